// A linear of xcpu from C, without PyTorch: weights are packed to four bits once, and
// multiplied with rows of inputs as often as one likes. Memory is the caller's; threads
// would be too (xcpu_team).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <xcpu/xcpu.h>

enum { kRows = 3, kInputs = 256, kOutputs = 100 };

static int check(const char *refusal) {
  if (refusal != NULL) fprintf(stderr, "%s\n", refusal);
  return refusal == NULL;
}

/* The largest difference from the product with the weights as they were, of sums that are
 * about 1. */
static double difference(const float *x, const float *weight, const float *out) {
  double largest = 0;
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kOutputs; ++n) {
      double sum = 0;
      for (int k = 0; k < kInputs; ++k)
        sum += (double)x[m * kInputs + k] * weight[n * kInputs + k];
      largest = fmax(largest, fabs(sum - out[m * kOutputs + n]));
    }
  }
  return largest;
}

int main(void) {
  static float x[kRows * kInputs], weight[kOutputs * kInputs], out[kRows * kOutputs];
  for (int i = 0; i < kRows * kInputs; ++i) x[i] = (float)(i % 23) / 11 - 1;
  for (int i = 0; i < kOutputs * kInputs; ++i) weight[i] = ((float)(i % 17) / 8 - 1) / 8;

  xcpu_packed packed = {.kind = XCPU_W_INT4, .group = 64, .n = kOutputs, .k = kInputs};
  void *memory = malloc((size_t)xcpu_packed_bytes(&packed));
  const xcpu_matrix matrix = {weight, XCPU_F32, kInputs, 1};
  if (!check(xcpu_pack(&packed, &matrix, NULL, memory, NULL))) return 1;
  packed.data = memory;

  const xcpu_linear_args args = {.rows = kRows,
                                 .x = {x, XCPU_F32, kInputs},
                                 .weight = packed,
                                 .precision = XCPU_INPUT_INT8,
                                 .activation = XCPU_IDENTITY,
                                 .out = {out, XCPU_F32, kOutputs}};
  void *scratch = malloc((size_t)xcpu_linear_scratch(&args));
  if (!check(xcpu_linear(&args, scratch, NULL))) return 1;

  const double found = difference(x, weight, out);
  printf("%s: int4 weights of %d x %d differ by %.3f\n", xcpu_isa(), kOutputs, kInputs,
         found);
  free(scratch);
  free(memory);
  return found < 0.2 ? 0 : 1;
}
