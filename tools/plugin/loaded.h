/* loaded.h - a plugin as a program without PyTorch loads it, and the host it sees then:
** what plug-check and plug-replay share. */
#ifndef TORCHPLUG_TOOLS_LOADED_H
#define TORCHPLUG_TOOLS_LOADED_H

#include <stddef.h>
#include <stdint.h>

#include "torchplug/plug.h"

extern plug_module module; /* as adopted */
extern plug_runtime rt;    /* likewise */

/* As much of a table as its owner knew: the rest is zero, and so is a member reached in
** part. */
void adopt(void* to, size_t whole, const void* from, uint32_t size);

/* Loads the plugin at `path`; on failure gives the reason, which is static. `services`
** are the program's: scratch, output, rng and report. */
const char* load_library(const char* path, const char* program, const plug_host* services);

extern plug_kernel* kernels; /* the plugin's list, as adopted */
extern uint32_t kernel_count;
extern plug_kernel* any_kernel; /* or NULL */
/* Reads module.kernels; on failure gives the reason, which is static. */
const char* adopt_kernels(void);

/* What the plugin told set_error since this was last called, or NULL; of the calling
** thread. */
const char* take_error(void);
/* The same for what the host has to say of a call that it refuses. */
void note_error(const char* message);

const char* status_text(plug_status status);

#endif
