/* HD_INLINE: a function that is compiled into its callers, whatever optimisation options they have. */
#ifndef HD_INLINE_H
#define HD_INLINE_H
#ifdef __GNUC__
#define HD_INLINE static inline __attribute__((always_inline))
#else
#define HD_INLINE static inline
#endif
#endif
