! What test_bindings.py runs: marks of cpuperf_marks.f90 and of likwid.f90.
program bindings
  use cpuperf_marks
  use likwid
  use, intrinsic :: iso_c_binding, only: c_int64_t
  implicit none
  character(20) :: padded = "padded"
  double precision :: events(4), time
  integer :: nr, calls
  integer(c_int64_t) :: big = 5000000000_c_int64_t

  nr = 4
  time = 4
  calls = 4
  call cpuperf_thread_name("fortran")
  call cpuperf_begin(padded)
  call cpuperf_begin("request", 17)
  call cpuperf_end()
  call cpuperf_end()
  call cpuperf_instant("here")
  call cpuperf_int("small", -3)
  call cpuperf_int("big", big)
  call cpuperf_begin("long", big)
  call cpuperf_end()
  call cpuperf_pause()
  call cpuperf_resume()
  call likwid_markerInit()
  call likwid_markerThreadInit()
  call likwid_markerRegisterRegion("triad")
  call likwid_markerStartRegion("triad")
  call likwid_markerStartRegion("copy")
  call likwid_markerStopRegion("triad")
  call likwid_markerStopRegion("copy")
  call likwid_markerGetRegion("triad", nr, events, time, calls)
  if (nr /= 0 .or. time > 0 .or. calls /= 0) print *, "counts"
  call likwid_markerClose()
  stop 7
end program bindings
