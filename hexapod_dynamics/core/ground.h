/* The ground: a sloping plane with steps along x and a rough surface; see simulation/ground.py. */
#ifndef HD_GROUND_H
#define HD_GROUND_H
#include <math.h>
#include <stdint.h>

struct hd_plane {
    double slope_x, slope_y;          /* rise over run */
    double rough, seed, cell, edge;   /* height between the highest and lowest corner, squares' sides, width of their flanks [m] */
    double highest, level;            /* upper bound of what stands on the plane; the plane's height at the origin [m] */
};
struct hd_rise {
    double at, rise, half_width; /* of a step: place along x, height, half the length of its ramp [m] */
};

static inline double hd_clamp(double a, double low, double high) { return a < low ? low : a > high ? high : a; }

/* A pseudo-random number from -0.5 to 0.5 of the corner (i, j) of a lattice and a seed. */
static inline double hd_corner_number(int64_t i, int64_t j, int64_t seed)
{
    uint64_t x = (uint64_t)(i * 374761393 + j * 668265263 + seed * 1274126177) & 0xffffffffu;
    x = ((x ^ x >> 13) * 1274126177u) & 0xffffffffu;
    x = ((x ^ x >> 16) * 668265263u) & 0xffffffffu;
    return (double)(x ^ x >> 15) / 4294967296.0 - 0.5;
}

/* Quintic from 0 to 1, whose curvature is continuous, and its derivative. */
static inline double hd_quintic(double u) { return u * u * u * (u * (u * 6.0 - 15.0) + 10.0); }
static inline double hd_quintic_slope(double u) { return 30.0 * u * u * (u - 1.0) * (u - 1.0); }

/* Height of the rough surface over the plane, and its slopes (2). */
static inline double hd_roughness(const struct hd_plane *p, double x, double y, double *slopes)
{
    const double i = floor(x / p->cell), j = floor(y / p->cell), share = p->edge / p->cell;
    const double u = hd_clamp(0.5 + (x / p->cell - i - 0.5) / share, 0.0, 1.0);
    const double v = hd_clamp(0.5 + (y / p->cell - j - 0.5) / share, 0.0, 1.0);
    const double su = hd_quintic(u), sv = hd_quintic(v);
    const int64_t row = (int64_t)i, column = (int64_t)j, seed = (int64_t)floor(p->seed);
    const double a = hd_corner_number(row, column, seed), b = hd_corner_number(row + 1, column, seed);
    const double c = hd_corner_number(row, column + 1, seed);
    const double twist = a - b - c + hd_corner_number(row + 1, column + 1, seed);
    slopes[0] = p->rough / p->edge * hd_quintic_slope(u) * (b - a + twist * sv);
    slopes[1] = p->rough / p->edge * hd_quintic_slope(v) * (c - a + twist * su);
    return p->rough * (a + (b - a) * su + (c - a) * sv + twist * su * sv);
}

static inline double hd_plane_height(const struct hd_plane *p, double x, double y)
{
    return p->level + p->slope_x * x + p->slope_y * y;
}

/* Height at (x, y) and the upward unit normal (3). */
static inline double hd_surface(const struct hd_plane *p, const struct hd_rise *rises, int64_t count, double x, double y,
                                double *normal)
{
    double height = hd_plane_height(p, x, y), slope = p->slope_x, across = p->slope_y, slopes[2];
    if (p->rough > 0.0) {
        height += hd_roughness(p, x, y, slopes);
        slope += slopes[0], across += slopes[1];
    }
    for (int64_t k = 0; k < count; k++) { /* smoothstep: flat at both ends */
        const double u = hd_clamp((x - rises[k].at) / rises[k].half_width, -1.0, 1.0);
        height += rises[k].rise * (0.5 + u * (0.75 - 0.25 * u * u));
        slope += rises[k].rise * 0.75 * (1.0 - u * u) / rises[k].half_width;
    }
    normal[2] = 1.0 / sqrt(1.0 + slope * slope + across * across);
    normal[0] = -slope * normal[2], normal[1] = -across * normal[2];
    return height;
}

/* Whether the ground is the plane z = 0. */
static inline int hd_is_level(const struct hd_plane *p, int64_t count)
{
    return count == 0 && p->rough == 0.0 && p->slope_x == 0.0 && p->slope_y == 0.0 && p->level == 0.0;
}
#endif
