# The kernels of xcpu as a static library with a C header: find_package(xcpu), xcpu::kernels.
get_filename_component(XCPU_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(NOT TARGET xcpu::kernels)
  add_library(xcpu::kernels STATIC IMPORTED)
  # It is C++ inside, which a project in C need not know.
  set_target_properties(xcpu::kernels PROPERTIES IMPORTED_LOCATION "${XCPU_ROOT}/lib/libxcpu_kernels.a"
                                                 INTERFACE_INCLUDE_DIRECTORIES "${XCPU_ROOT}/include"
                                                 INTERFACE_LINK_LIBRARIES "stdc++;m")
endif()
