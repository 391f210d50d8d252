! likwid's Fortran module with its subroutines as marks: for programs that `use likwid`, without a
! change. Compile this file after cpuperf_marks.f90, in place of likwid's module, and link
! libcpuperf_marks.so (-lcpuperf_marks) instead of likwid.
!
! What registers, switches, resets and writes is nothing: counts are in cpuperf's session, so that
! likwid_markerGetRegion returns none.
!
! SPDX-License-Identifier: MIT
module likwid
  use cpuperf_marks, only: cpuperf_begin_named, cpuperf_end_named
  implicit none
  private
  public :: likwid_markerInit, likwid_markerThreadInit, likwid_markerNextGroup, likwid_markerClose
  public :: likwid_markerWriteFile, likwid_markerRegisterRegion, likwid_markerStartRegion
  public :: likwid_markerStopRegion, likwid_markerGetRegion, likwid_markerResetRegion

contains

  subroutine likwid_markerInit()
  end subroutine

  subroutine likwid_markerThreadInit()
  end subroutine

  subroutine likwid_markerNextGroup()
  end subroutine

  subroutine likwid_markerClose()
  end subroutine

  subroutine likwid_markerWriteFile(markerfile)
    character(*) :: markerfile
    associate (unused => markerfile)
    end associate
  end subroutine

  subroutine likwid_markerRegisterRegion(regionTag)
    character(*) :: regionTag
    associate (unused => regionTag)
    end associate
  end subroutine

  subroutine likwid_markerStartRegion(regionTag)
    character(*) :: regionTag
    call cpuperf_begin_named(regionTag)
  end subroutine

  subroutine likwid_markerStopRegion(regionTag)
    character(*) :: regionTag
    call cpuperf_end_named(regionTag)
  end subroutine

  subroutine likwid_markerGetRegion(regionTag, nr_events, events, time, count)
    character(*) :: regionTag
    integer :: nr_events
    double precision, dimension(*) :: events
    double precision :: time
    integer :: count
    associate (unused => regionTag, unused_too => events(1))
    end associate
    nr_events = 0
    time = 0
    count = 0
  end subroutine

  subroutine likwid_markerResetRegion(regionTag)
    character(*) :: regionTag
    associate (unused => regionTag)
    end associate
  end subroutine

end module likwid
