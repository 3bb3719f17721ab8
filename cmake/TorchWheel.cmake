# PyTorch as its wheel installs it: imported targets torch::cpu (no Python) and torch::python.
# The wheel's own TorchConfig.cmake would also ask for the CUDA toolkit the wheel was built with, of
# which torchplug uses nothing.

execute_process(
  COMMAND ${Python_EXECUTABLE} -c "import os; os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'
import torch; print(os.path.dirname(torch.__file__), torch.__version__, torch.distributed.is_available(), sep=';')"
  OUTPUT_VARIABLE TORCH_FOUND
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE TORCH_RESULT)
if(NOT TORCH_RESULT EQUAL 0)
  message(FATAL_ERROR "PyTorch is not installed for ${Python_EXECUTABLE}. Install it: pip install torch==2.13.0")
endif()
list(GET TORCH_FOUND 0 TORCH_DIR)
list(GET TORCH_FOUND 1 TORCH_VERSION)
list(GET TORCH_FOUND 2 TORCH_HAS_DISTRIBUTED)
message(STATUS "PyTorch ${TORCH_VERSION}: ${TORCH_DIR}")

add_library(torch::cpu INTERFACE IMPORTED)
target_include_directories(torch::cpu SYSTEM INTERFACE ${TORCH_DIR}/include
                                                       ${TORCH_DIR}/include/torch/csrc/api/include)
target_link_libraries(torch::cpu INTERFACE ${TORCH_DIR}/lib/libtorch_cpu.so ${TORCH_DIR}/lib/libtorch.so
                                           ${TORCH_DIR}/lib/libc10.so)

add_library(torch::python INTERFACE IMPORTED)
target_link_libraries(torch::python INTERFACE torch::cpu Python::Module ${TORCH_DIR}/lib/libtorch_python.so)
