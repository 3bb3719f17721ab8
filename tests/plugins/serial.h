/* serial.h - what the serial plugin tells tests about the calls it saw. */
#ifndef TORCHPLUG_TESTS_SERIAL_H
#define TORCHPLUG_TESTS_SERIAL_H

#include "torchplug/plug.h"

#ifdef __cplusplus
extern "C" {
#endif

PLUG_EXPORT uint64_t serial_calls(void);
PLUG_EXPORT uint64_t
serial_overlaps(void); /* calls made while another thread was inside */
PLUG_EXPORT const plug_runtime *serial_runtime(void);

#ifdef __cplusplus
}
#endif
#endif
