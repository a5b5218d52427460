/* Forward and inverse dynamics of many states of one morphology: a state in each lane.
 *
 * The memory of a group of HD_LANES states: three rows of lanes (HD_WASTE, HD_ZERO, HD_CHECK), then for each leg its
 * constants and a row of lanes for each further row, then `shared` with a row of lanes for each place. Kernels are
 * those of the legs, printed for this layout. dynamics/model/batch.py prepares struct hd_batch; every thread has memory of
 * its own.
 */
#ifndef HD_BATCH_H
#define HD_BATCH_H

#include <string.h>

#include "hd_lanes.h"
#include "hd_rotation.h"

enum { HD_LINE_DOUBLES = 8 }; /* of a cache line */
/* Places of `shared` that only batches use. */
enum { HD_BATCH_SKEWNESS = 81, HD_BATCH_DETERMINANT = 82 };

typedef void (*hd_batch_kernel)(double *leg, double *shared);

struct hd_batch {
    int64_t forward;     /* 1: forward dynamics, 0: inverse dynamics */
    int64_t legs;        /* those that are not missing */
    int64_t leg_size;    /* doubles of a leg's memory */
    int64_t memory_size; /* doubles of all */
    int64_t widths[5];   /* columns of R, q, nu, tau or nudot, and of the result */
    int64_t padded[5];   /* the same, HD_LANES at least: entries of `places` */
    const int64_t *places;       /* where each column has its lanes, behind the first three rows */
    const double *whole;         /* what the memory is before a state is written to it */
    const hd_batch_kernel *code; /* two for each leg: forward, substitute; or inverse twice */
};

/* Of a robot: printed. */
void start(double *restrict block, double *restrict shared);
void start_inverse(double *restrict block, double *restrict shared);
void solve_head(double *restrict block, double *restrict shared);

#if defined(__clang__)
#define HD_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define HD_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (hd_whole_lanes){__VA_ARGS__})
#endif
#define HD_SWAP(i, j, here, there)                                            \
    do {                                                                      \
        const hd_lanes a = rows[i], b = rows[j];                              \
        rows[i] = HD_SHUFFLE(a, b, HD_UNPACK here);                           \
        rows[j] = HD_SHUFFLE(a, b, HD_UNPACK there);                          \
    } while (0)
#define HD_UNPACK(...) __VA_ARGS__

/* Columns of a square of numbers that is given as rows: halves of squares of 2, 4 and 8 change places. */
static inline __attribute__((always_inline)) void hd_transpose(hd_lanes *rows)
{
#if HD_LANES == 8
    HD_SWAP(0, 1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15));
    HD_SWAP(2, 3, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15));
    HD_SWAP(4, 5, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15));
    HD_SWAP(6, 7, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15));
    HD_SWAP(0, 2, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15));
    HD_SWAP(1, 3, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15));
    HD_SWAP(4, 6, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15));
    HD_SWAP(5, 7, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15));
    HD_SWAP(0, 4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15));
    HD_SWAP(1, 5, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15));
    HD_SWAP(2, 6, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15));
    HD_SWAP(3, 7, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15));
#elif HD_LANES == 4
    HD_SWAP(0, 1, (0, 4, 2, 6), (1, 5, 3, 7));
    HD_SWAP(2, 3, (0, 4, 2, 6), (1, 5, 3, 7));
    HD_SWAP(0, 2, (0, 1, 4, 5), (2, 3, 6, 7));
    HD_SWAP(1, 3, (0, 1, 4, 5), (2, 3, 6, 7));
#elif HD_LANES == 2
    HD_SWAP(0, 1, (0, 2), (1, 3));
#else
    (void)rows;
#endif
}

/* Move HD_LANES columns of as many states, whose rows are `row` doubles apart, to their places in the memory. */
static inline void hd_spread(const double *states, int64_t row, double *memory, const int64_t *places)
{
    hd_lanes rows[HD_LANES];
    for (int i = 0; i < HD_LANES; i++)
        rows[i] = hd_load(states + row * i);
    hd_transpose(rows);
    for (int i = 0; i < HD_LANES; i++)
        hd_store_line(memory + places[i], rows[i]);
}

/* Move such columns back. `check` gets zero times what is moved added: nan for what is not finite. */
static inline hd_lanes hd_collect(double *states, int64_t row, const double *memory, const int64_t *places,
                                  hd_lanes check)
{
    hd_lanes rows[HD_LANES];
    for (int i = 0; i < HD_LANES; i++) {
        rows[i] = hd_load_line(memory + places[i]);
        check = check + rows[i] * 0.0;
    }
    hd_transpose(rows);
    for (int i = 0; i < HD_LANES; i++)
        hd_store(states + row * i, rows[i]);
    return check;
}

/* Copy the rows of HD_LANES states behind each other, so far apart; past the end the last one again. */
static void hd_copy_rows(const int64_t *states, int64_t first, int64_t count, int64_t width, const double *source,
                         double *room, int64_t row)
{
    for (int64_t lane = 0; lane < HD_LANES; lane++) {
        const int64_t state = states[first + lane < count ? first + lane : count - 1];
        memcpy(room + lane * row, source + width * state, (size_t)width * sizeof(double));
    }
}

/* Ask for the rows of HD_LANES states from one on, of all arrays, while others are computed. */
static inline void hd_fetch_rows(const double *const *arrays, const int64_t *widths, int64_t state)
{
    for (int part = 0; part < 5; part++) {
        const char *begin = (const char *)(arrays[part] + widths[part] * state);
        for (int64_t place = 0; place < 8 * widths[part] * HD_LANES; place += 64)
            __builtin_prefetch(begin + place);
    }
}

int64_t hd_run_batch(const struct hd_batch *batch, const int64_t *states, int64_t count, double *memory, double *room,
                     const double *R, const double *q, const double *nu, const double *given, double *out);

/* Fill `out` for the states (indices); return the first one that is no state or whose result is not finite, else -1.
 *
 * memory: memory_size doubles from a cache line on; room: HD_LANES times the largest of `padded`. arrays: R, q, nu,
 * tau or nudot, out. Groups of states that follow each other are read and written where they are, others by way of
 * `room`. */
int64_t hd_run_batch(const struct hd_batch *batch, const int64_t *states, int64_t count, double *memory, double *room,
                     const double *R, const double *q, const double *nu, const double *given, double *out)
{
    const double *const arrays[5] = {R, q, nu, given, out};
    const int64_t *widths = batch->widths, *padded = batch->padded;
    double *base = memory + 3 * HD_LINE_DOUBLES, *shared = base + batch->legs * batch->leg_size;
    int64_t worst = -1;
    memcpy(memory, batch->whole, (size_t)batch->memory_size * sizeof(double));
    for (int64_t group = 0; group < count; group += HD_LANES) {
        const int64_t first = states[group];
        const int in_line = group + HD_LANES <= count && states[group + HD_LANES - 1] == first + HD_LANES - 1;
        const int64_t *table = batch->places;
        for (int part = 0; part < 4; part++) {
            const double *source = arrays[part] + widths[part] * first;
            if (!in_line || widths[part] < HD_LANES) {
                hd_copy_rows(states, group, count, widths[part], arrays[part], room, padded[part]);
                source = room;
            }
            for (int64_t c = 0; c < padded[part]; c += HD_LANES) { /* the last columns may be moved twice */
                const int64_t column = c < padded[part] - HD_LANES ? c : padded[part] - HD_LANES;
                hd_spread(source + column, padded[part], base, table + column);
            }
            table += padded[part];
        }
        if (group + HD_LANES < count)
            hd_fetch_rows(arrays, widths, states[group + HD_LANES]);
        if (batch->forward) {
            start(base, shared);
            for (int64_t leg = 0; leg < batch->legs; leg++)
                batch->code[2 * leg](base + leg * batch->leg_size, shared);
            solve_head(base, shared);
            for (int64_t leg = 0; leg < batch->legs; leg++)
                batch->code[2 * leg + 1](base + leg * batch->leg_size, shared);
        } else {
            start_inverse(base, shared);
            for (int64_t leg = 0; leg < batch->legs; leg++)
                batch->code[2 * leg](base + leg * batch->leg_size, shared);
        }
        const int direct = in_line && widths[4] >= HD_LANES;
        double *target = direct ? out + widths[4] * first : room;
        hd_lanes check = hd_splat(0.0);
        for (int64_t c = 0; c < padded[4]; c += HD_LANES) {
            const int64_t column = c < padded[4] - HD_LANES ? c : padded[4] - HD_LANES;
            check = hd_collect(target + column, padded[4], base, table + column, check);
        }
        double checks[HD_LANES];
        hd_store(checks, check);
        for (int64_t lane = 0; lane < HD_LANES && group + lane < count; lane++) {
            const int64_t state = states[group + lane];
            if (!direct)
                memcpy(out + widths[4] * state, target + lane * padded[4], (size_t)widths[4] * sizeof(double));
            int good = shared[HD_BATCH_SKEWNESS * HD_LANES + lane] <= HD_ROTATION_TOLERANCE * HD_ROTATION_TOLERANCE &&
                       shared[HD_BATCH_DETERMINANT * HD_LANES + lane] > 0.0;
            if (!good)
                good = hd_is_rotation(R + 9 * state);
            if ((!good || checks[lane] != 0.0) && (worst < 0 || state < worst))
                worst = state;
        }
    }
    return worst;
}

#endif
