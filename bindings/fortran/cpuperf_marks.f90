! Marks of a Fortran program: what it is doing, measured by `cpuperf --regions -- ./prog`.
!
!     use cpuperf_marks
!     call cpuperf_begin("parse")                 ! begins a region of this thread
!     call cpuperf_begin("request", number)       ! the same, with a number
!     call cpuperf_end()                          ! ends the innermost one
!     call cpuperf_begin_named("copy")            ! regions that may overlap: they end by name
!     call cpuperf_end_named("copy")
!     call cpuperf_instant("started")             ! something happened
!     call cpuperf_int("queue", number)           ! a value, at this time
!     call cpuperf_thread_name("worker")
!     call cpuperf_pause(); call cpuperf_resume() ! samples between them are left out
!
! Compile this file with the program, and link libcpuperf_marks.so (-lcpuperf_marks). Trailing blanks
! of a name are not part of it. Programs with likwid's markers: likwid.f90, beside this file.
!
! SPDX-License-Identifier: MIT
module cpuperf_marks
  use, intrinsic :: iso_c_binding, only: c_char, c_int32_t, c_int64_t, c_null_char
  implicit none
  private
  public :: cpuperf_begin, cpuperf_end, cpuperf_begin_named, cpuperf_end_named, cpuperf_instant
  public :: cpuperf_int, cpuperf_thread_name, cpuperf_pause, cpuperf_resume
  public :: cpuperf_pause_thread, cpuperf_resume_thread

  interface cpuperf_begin
    module procedure begin_plain, begin_number, begin_long_number
  end interface

  interface cpuperf_int
    module procedure int_value, int_long_value
  end interface

  interface
    subroutine marks_begin(name) bind(c, name="cpuperf_marks_begin")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine marks_begin_number(name, number) bind(c, name="cpuperf_marks_begin_number")
      import :: c_char, c_int64_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: number
    end subroutine
    subroutine marks_begin_named(name) bind(c, name="cpuperf_marks_begin_named")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine marks_end_named(name) bind(c, name="cpuperf_marks_end_named")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine marks_instant(name) bind(c, name="cpuperf_marks_instant")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine marks_int(name, number) bind(c, name="cpuperf_marks_int")
      import :: c_char, c_int64_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: number
    end subroutine
    subroutine marks_thread_name(name) bind(c, name="cpuperf_marks_thread_name")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine cpuperf_end() bind(c, name="cpuperf_marks_end")
    end subroutine
    subroutine cpuperf_pause() bind(c, name="cpuperf_marks_pause")
    end subroutine
    subroutine cpuperf_resume() bind(c, name="cpuperf_marks_resume")
    end subroutine
    subroutine cpuperf_pause_thread() bind(c, name="cpuperf_marks_pause_thread")
    end subroutine
    subroutine cpuperf_resume_thread() bind(c, name="cpuperf_marks_resume_thread")
    end subroutine
  end interface

contains

  subroutine begin_plain(name)
    character(*), intent(in) :: name
    call marks_begin(trim(name) // c_null_char)
  end subroutine

  subroutine begin_number(name, number)
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: number
    call marks_begin_number(trim(name) // c_null_char, int(number, c_int64_t))
  end subroutine

  subroutine begin_long_number(name, number)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: number
    call marks_begin_number(trim(name) // c_null_char, number)
  end subroutine

  subroutine cpuperf_begin_named(name)
    character(*), intent(in) :: name
    call marks_begin_named(trim(name) // c_null_char)
  end subroutine

  subroutine cpuperf_end_named(name)
    character(*), intent(in) :: name
    call marks_end_named(trim(name) // c_null_char)
  end subroutine

  subroutine cpuperf_instant(name)
    character(*), intent(in) :: name
    call marks_instant(trim(name) // c_null_char)
  end subroutine

  subroutine int_value(name, number)
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: number
    call marks_int(trim(name) // c_null_char, int(number, c_int64_t))
  end subroutine

  subroutine int_long_value(name, number)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: number
    call marks_int(trim(name) // c_null_char, number)
  end subroutine

  subroutine cpuperf_thread_name(name)
    character(*), intent(in) :: name
    call marks_thread_name(trim(name) // c_null_char)
  end subroutine

end module cpuperf_marks
