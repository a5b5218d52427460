/* The recursions along a leg. model.h includes this once for each shape of leg.
 *
 * HD_KERNEL(name) gives a function its name, HD_SHAPE(b) is a struct hd_shape: a constant one lets the compiler fold what
 * is zero, with HD_UNROLL before the loops over joints. b: a leg (or more, in its lanes); x: its scratch memory.
 */

/* Arrow (31), (32) and right-hand side of a leg under the body's twist V and acceleration A (gravity included), by recursion in
 * the links' own axes, where the compiler knows the axes and many zeros; returns the composite inertia, and the wrench that
 * the motion needs. ends: also screws and ends of the links. */
HD_INLINE struct hd_share HD_KERNEL(arrow)(struct hd_leg *b, struct hd_scratch *x, spatial V, spatial A, const int ends)
{
    const struct hd_shape shape = HD_SHAPE(b), *const s = &shape;
    struct hd_place at = mount_of(b, s), place[HD_MOST_JOINTS];
    spatial S[HD_MOST_JOINTS], f[HD_MOST_JOINTS];
    HD_UNROLL for (int k = 0; k < s->n; k++) {
        place[k] = place_in_previous(b, s, k), S[k] = own_screw(b, s, k);
        if (ends) {
            x->J[k] = pass_joint(b, s, k, &at);
            x->end[k] = add(at.p, rotate(at.R, three(b, s, k, HD_END)));
        }
        const inertia I = link_inertia(b, s, k);
        const spatial own = scale_spatial(b->rate[k], S[k]);
        V = add_spatial(motion_at(place[k], V), own);
        A = add_spatial(motion_at(place[k], A), cross_motion(V, own));
        f[k] = add_spatial(momentum(I, A), cross_force(V, momentum(I, V)));
    }
    inertia C = link_inertia(b, s, s->n - 1);
    spatial F = f[s->n - 1];
    HD_UNROLL for (int k = s->n - 1; k >= 0; k--) {
        const real mask = b->link[k].mask;
        spatial column = scale_spatial(mask, momentum(C, S[k]));
        x->force[k] = mask * (b->tau[k] - dot_spatial(S[k], F));
        x->block[k][k] = dot_spatial(S[k], column) + mask * number(b, s, k, HD_ROTOR) + (1.0 - mask);
        HD_UNROLL for (int l = k - 1; l >= 0; l--) {
            column = wrench_from(place[l + 1], column);
            x->block[k][l] = b->link[l].mask * dot_spatial(S[l], column);
        }
        x->arm[k] = wrench_from(place[0], column);
        C = transform_inertia(C, place[k].R, place[k].p);
        F = wrench_from(place[k], F);
        if (k) {
            C = add_inertia(C, link_inertia(b, s, k - 1));
            F = add_spatial(F, f[k - 1]);
        }
    }
    return (struct hd_share){C, F};
}
static void HD_KERNEL(terms)(struct hd_leg *b, struct hd_scratch *x, const spatial *V, const spatial *A, struct hd_share *t)
{
    *t = HD_KERNEL(arrow)(b, x, *V, *A, 0);
}
/* The same, with screws and ends of the links. */
static void HD_KERNEL(terms_and_ends)(struct hd_leg *b, struct hd_scratch *x, const spatial *V, const spatial *A,
                                      struct hd_share *t)
{
    *t = HD_KERNEL(arrow)(b, x, *V, *A, 1);
}

/* Joint torques for given accelerations, by recursion in the links' own axes; *F: the wrench on the body. */
static void HD_KERNEL(inverse)(struct hd_leg *b, struct hd_scratch *x, const spatial *V_, const spatial *A_, spatial *F_)
{
    const struct hd_shape shape = HD_SHAPE(b), *const s = &shape;
    struct hd_place place[HD_MOST_JOINTS];
    spatial V = *V_, A = *A_, S[HD_MOST_JOINTS], f[HD_MOST_JOINTS];
    (void)x;
    HD_UNROLL for (int k = 0; k < s->n; k++) {
        place[k] = place_in_previous(b, s, k), S[k] = own_screw(b, s, k);
        const inertia I = link_inertia(b, s, k);
        const spatial own = scale_spatial(b->rate[k], S[k]);
        V = add_spatial(motion_at(place[k], V), own);
        A = add_spatial(motion_at(place[k], A), add_spatial(cross_motion(V, own), scale_spatial(b->qdd[k], S[k])));
        f[k] = add_spatial(momentum(I, A), cross_force(V, momentum(I, V)));
    }
    spatial F = f[s->n - 1];
    HD_UNROLL for (int k = s->n - 1; k >= 0; k--) {
        b->out[k] = dot_spatial(S[k], F) + number(b, s, k, HD_ROTOR) * b->qdd[k];
        F = wrench_from(place[k], F);
        if (k)
            F = add_spatial(F, f[k - 1]);
    }
    *F_ = F;
}

/* Factor M_ii = L D L^T; subtract what the leg takes off the head H (lower triangle) and its right-hand side F. */
static void HD_KERNEL(eliminate)(struct hd_leg *b, struct hd_scratch *x, real *H, real *F)
{
    const struct hd_shape shape = HD_SHAPE(b), *const s = &shape;
    real L[HD_MOST_JOINTS][HD_MOST_JOINTS], D[HD_MOST_JOINTS], y[HD_MOST_JOINTS][6], T[HD_MOST_JOINTS][6], r[HD_MOST_JOINTS];
    HD_UNROLL for (int a = 0; a < s->n; a++) {
        real scaled[HD_MOST_JOINTS], pivot = x->block[a][a];
        const spatial A = x->arm[a];
        y[a][0] = A.v.x, y[a][1] = A.v.y, y[a][2] = A.v.z, y[a][3] = A.w.x, y[a][4] = A.w.y, y[a][5] = A.w.z;
        r[a] = x->force[a];
        HD_UNROLL for (int c = 0; c < a; c++) {
            real value = x->block[a][c];
            HD_UNROLL for (int k = 0; k < c; k++)
                value -= scaled[k] * L[c][k];
            scaled[c] = value;
            L[a][c] = b->factor[a][c] = value * D[c];
            pivot -= value * L[a][c];
            HD_SIX for (int i = 0; i < 6; i++)
                y[a][i] -= L[a][c] * y[c][i];
            r[a] -= L[a][c] * r[c];
        }
        D[a] = 1.0 / pivot;
        HD_SIX for (int i = 0; i < 6; i++)
            T[a][i] = y[a][i] * D[a];
        b->scaled[a] = (spatial){{T[a][0], T[a][1], T[a][2]}, {T[a][3], T[a][4], T[a][5]}};
        b->reduced[a] = r[a] * D[a];
    }
    HD_SIX for (int i = 0; i < 6; i++) { /* each entry of the head once, for all joints */
        HD_UNROLL for (int a = 0; a < s->n; a++)
            F[i] -= T[a][i] * r[a];
        HD_SIX for (int c = 0; c <= i; c++)
            HD_UNROLL for (int a = 0; a < s->n; a++)
                H[i * (i + 1) / 2 + c] -= T[a][i] * y[a][c];
    }
}

/* The joints' accelerations from the body's. */
static void HD_KERNEL(substitute)(struct hd_leg *b, const spatial *a)
{
    const struct hd_shape shape = HD_SHAPE(b), *const s = &shape;
    real acc[HD_MOST_JOINTS];
    HD_UNROLL for (int k = s->n - 1; k >= 0; k--) {
        acc[k] = b->reduced[k] - dot_spatial(b->scaled[k], *a);
        HD_UNROLL for (int o = k + 1; o < s->n; o++)
            acc[k] -= b->factor[o][k] * acc[o];
        b->acc[k] = acc[k];
    }
}

/* Screws, and where the links begin and end and how they are turned; base: place of base_link, 0: its own axes. */
static void HD_KERNEL(frames)(struct hd_leg *b, struct hd_scratch *x, const struct hd_place *base)
{
    const struct hd_shape shape = HD_SHAPE(b), *const s = &shape;
    struct hd_place at = mount_of(b, s);
    if (base) {
        const mat3 R = base->R;
        at.R = (mat3){rotate(R, at.R.x), rotate(R, at.R.y), rotate(R, at.R.z)};
        at.p = add(base->p, rotate(R, at.p));
    }
    HD_UNROLL for (int k = 0; k < s->n; k++) {
        x->J[k] = pass_joint(b, s, k, &at);
        x->origin[k] = at.p, x->frame[k] = at.R;
        x->end[k] = add(at.p, rotate(at.R, three(b, s, k, HD_END)));
    }
}

/* Sum of the links' mass times centre of mass. */
static void HD_KERNEL(center)(struct hd_leg *b, struct hd_scratch *x, vec3 *h)
{
    const struct hd_shape shape = HD_SHAPE(b), *const s = &shape;
    struct hd_place at = mount_of(b, s);
    const real zero = splat(0.0);
    vec3 sum = {zero, zero, zero};
    (void)x;
    HD_UNROLL for (int k = 0; k < s->n; k++) {
        pass_joint(b, s, k, &at);
        sum = add(sum, add(rotate(at.R, three(b, s, k, HD_H)), scale(number(b, s, k, HD_MASS), at.p)));
    }
    *h = sum;
}

/* First derivatives of inverse dynamics (Singh, Russell & Wensing 2022) and the leg's arrow; or, not `all`, the leg's share of
 * the Coriolis matrix, (44) to (51) (Echeandia & Wensing 2021).
 *
 * With 2B x = D x + x x* P, psi = v x J and psi2 = a x J + v x psi (v, a before the joint), the wrench's derivatives are
 * 2B psi + C psi2 + J x* F by q_k and 2B J + 2C psi by its rate; by_twist: of torque k by V; by_q, by_rate: of torques. The
 * Coriolis matrix is half of the derivatives by V and by the rates, its column in the head less V x* C J / 2. */
HD_INLINE struct hd_rates HD_KERNEL(rates)(const struct hd_leg *b, struct hd_scratch *x, spatial V, spatial A, const int all)
{
    const struct hd_shape shape = HD_SHAPE(b), *const s = &shape;
    const real share = splat(all ? 1.0 : 0.5);
    struct hd_place at = mount_of(b, s);
    spatial J[HD_MOST_JOINTS], psi[HD_MOST_JOINTS], psi2[HD_MOST_JOINTS], v[HD_MOST_JOINTS + 1], a[HD_MOST_JOINTS + 1];
    inertia I[HD_MOST_JOINTS];
    struct hd_rates t;
    memset(&t, 0, sizeof t);
    v[0] = V, a[0] = A;
    HD_UNROLL for (int k = 0; k < s->n; k++) {
        J[k] = pass_joint(b, s, k, &at);
        I[k] = transform_inertia(link_inertia(b, s, k), at.R, at.p);
        psi[k] = cross_motion(v[k], J[k]);
        psi2[k] = add_spatial(cross_motion(a[k], J[k]), cross_motion(v[k], psi[k]));
        v[k + 1] = add_spatial(v[k], scale_spatial(b->rate[k], J[k]));
        a[k + 1] = add_spatial(a[k], add_spatial(scale_spatial(b->rate[k], psi[k]), scale_spatial(b->qdd[k], J[k])));
    }
    HD_UNROLL for (int k = s->n - 1; k >= 0; k--) {
        const spatial p = momentum(I[k], v[k + 1]);
        t.C = add_inertia(t.C, I[k]);
        t.D = add_inertia(t.D, inertia_rate(I[k], v[k + 1]));
        t.P = add_spatial(t.P, p);
        const spatial arm = momentum(t.C, J[k]), DJ = momentum(t.D, J[k]), turned = cross_force(J[k], t.P);
        const spatial by_rate = scale_spatial(share, add_spatial(add_spatial(DJ, turned), momentum(t.C, add_spatial(psi[k], psi[k]))));
        const spatial row = sub_spatial(DJ, turned), carried = scale_spatial(share, cross_force(V, arm)); /* row: J^T 2B */
        x->wrench_by_rate[k] = all ? by_rate : sub_spatial(by_rate, carried);
        x->by_twist[k] = sub_spatial(scale_spatial(share, row), carried); /* J^T (2B + C [V x]) */
        HD_UNROLL for (int l = 0; l <= k; l++) { /* l is the inner one */
            x->by_rate[k][l] = share * (dot_spatial(row, J[l]) + 2.0 * dot_spatial(arm, psi[l]));
            if (l < k)
                x->by_rate[l][k] = dot_spatial(J[l], by_rate);
        }
        if (!all)
            continue;
        t.F = add_spatial(t.F, add_spatial(momentum(I[k], a[k + 1]), cross_force(v[k + 1], p)));
        const spatial by_q = add_spatial(add_spatial(momentum(t.D, psi[k]), cross_force(psi[k], t.P)),
                                         add_spatial(momentum(t.C, psi2[k]), cross_force(J[k], t.F)));
        x->wrench_by_q[k] = by_q, x->arm[k] = arm;
        HD_UNROLL for (int l = 0; l <= k; l++) {
            x->by_q[k][l] = dot_spatial(row, psi[l]) + dot_spatial(arm, psi2[l]);
            x->block[k][l] = dot_spatial(J[l], arm);
            if (l < k)
                x->by_q[l][k] = dot_spatial(J[l], by_q);
        }
        x->block[k][k] += number(b, s, k, HD_ROTOR);
    }
    return t;
}
static void HD_KERNEL(coriolis)(struct hd_leg *b, struct hd_scratch *x, const spatial *V, const spatial *A, struct hd_rates *sums)
{
    *sums = HD_KERNEL(rates)(b, x, *V, *A, 0);
}
static void HD_KERNEL(derivatives)(struct hd_leg *b, struct hd_scratch *x, const spatial *V, const spatial *A, struct hd_rates *sums)
{
    *sums = HD_KERNEL(rates)(b, x, *V, *A, 1);
}

static const struct hd_kernels HD_KERNEL(kernels) = {
    HD_KERNEL(terms),  HD_KERNEL(terms_and_ends), HD_KERNEL(eliminate), HD_KERNEL(substitute),  HD_KERNEL(inverse),
    HD_KERNEL(frames), HD_KERNEL(center),         HD_KERNEL(coriolis),  HD_KERNEL(derivatives),
};
#undef HD_KERNEL
#undef HD_SHAPE
#undef HD_UNROLL
