/* Optimizer steps: new values of a parameter and of its state, in one pass. The formulas are those of
 * engines/_updates.py, with the same numbers and flags in the same order. */

#define EACH for (ptrdiff_t i = 0; i < n; i++)
#define STEP(name) static void NAME(name##_step)(void *const *own, const void *gradient, ptrdiff_t n, const double *number, \
                                                 const bool *flag)
#define READ_NUMBERS(count) \
    REAL x[count]; \
    for (int j = 0; j < (count); j++) { \
        x[j] = (REAL)number[j]; \
    }

/* The gradient that goes down, with the weight decay in it. */
INLINE REAL NAME(descent)(REAL g, REAL p, bool maximize, bool decays, REAL decay)
{
    g = maximize ? -g : g;
    return decays ? g + p * decay : g;
}

STEP(sgd)
{
    REAL *restrict p = own[0], *restrict buffer = own[1];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(5);
    REAL lr = x[0], momentum = x[1], keep = x[2], weight = x[3], decay = x[4];
    bool maximize = flag[0], decays = flag[1], nesterov = flag[2];
    if (buffer == NULL) {
        EACH {
            p[i] -= NAME(descent)(grad[i], p[i], maximize, decays, decay) * lr;
        }
        return;
    }
    EACH {
        REAL g = NAME(descent)(grad[i], p[i], maximize, decays, decay);
        REAL average = buffer[i] * keep + g * weight;
        buffer[i] = average;
        p[i] -= (nesterov ? g + average * momentum : average) * lr;
    }
}

STEP(adam)
{
    REAL *restrict p = own[0], *restrict exp_avg = own[1], *restrict exp_avg_sq = own[2], *restrict largest = own[3];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(7);
    REAL decay = x[0], weight1 = x[1], beta2 = x[2], weight2 = x[3], eps = x[4], rate = x[5];
    REAL scale = (REAL)(1 / number[6]); /* a division less for each element */
    bool maximize = flag[0], coupled = flag[1], decoupled = flag[2];
    if (largest == NULL) {
        EACH {
            REAL g = NAME(descent)(grad[i], p[i], maximize, coupled, decay);
            REAL m = exp_avg[i] + (g - exp_avg[i]) * weight1, v = exp_avg_sq[i] * beta2 + g * g * weight2;
            exp_avg[i] = m;
            exp_avg_sq[i] = v;
            p[i] = (decoupled ? p[i] * decay : p[i]) - m / (NAME(root)(v) * scale + eps) * rate;
        }
        return;
    }
    EACH {
        REAL g = NAME(descent)(grad[i], p[i], maximize, coupled, decay);
        REAL m = exp_avg[i] + (g - exp_avg[i]) * weight1, v = exp_avg_sq[i] * beta2 + g * g * weight2;
        REAL most = largest[i] >= v || largest[i] != largest[i] ? largest[i] : v;
        exp_avg[i] = m;
        exp_avg_sq[i] = v;
        largest[i] = most;
        p[i] = (decoupled ? p[i] * decay : p[i]) - m / (NAME(root)(most) * scale + eps) * rate;
    }
}

STEP(adamax)
{
    REAL *restrict p = own[0], *restrict exp_avg = own[1], *restrict exp_inf = own[2];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(5);
    REAL decay = x[0], weight1 = x[1], beta2 = x[2], eps = x[3], rate = x[4];
    bool maximize = flag[0], decays = flag[1];
    EACH {
        REAL g = NAME(descent)(grad[i], p[i], maximize, decays, decay);
        REAL m = exp_avg[i] + (g - exp_avg[i]) * weight1, before = exp_inf[i] * beta2, now = (g < 0 ? -g : g) + eps;
        REAL most = before >= now || before != before ? before : now;
        exp_avg[i] = m;
        exp_inf[i] = most;
        p[i] -= m / most * rate;
    }
}

STEP(nadam)
{
    REAL *restrict p = own[0], *restrict exp_avg = own[1], *restrict exp_avg_sq = own[2];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(8);
    REAL decay = x[0], weight1 = x[1], beta2 = x[2], weight2 = x[3], eps = x[4], correction = x[5];
    REAL rate = x[6], average_rate = x[7];
    bool maximize = flag[0], coupled = flag[1], decoupled = flag[2];
    EACH {
        REAL g = NAME(descent)(grad[i], p[i], maximize, coupled, decay);
        REAL m = exp_avg[i] + (g - exp_avg[i]) * weight1, v = exp_avg_sq[i] * beta2 + g * g * weight2;
        REAL scale = NAME(root)(v / correction) + eps;
        exp_avg[i] = m;
        exp_avg_sq[i] = v;
        p[i] = (decoupled ? p[i] * decay : p[i]) - g / scale * rate - m / scale * average_rate;
    }
}

STEP(radam)
{
    REAL *restrict p = own[0], *restrict exp_avg = own[1], *restrict exp_avg_sq = own[2];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(7);
    REAL decay = x[0], weight1 = x[1], beta2 = x[2], weight2 = x[3], share = x[4], rest = x[5], rate = x[6];
    bool maximize = flag[0], coupled = flag[1], decoupled = flag[2];
    EACH {
        REAL g = NAME(descent)(grad[i], p[i], maximize, coupled, decay);
        REAL m = exp_avg[i] + (g - exp_avg[i]) * weight1, v = exp_avg_sq[i] * beta2 + g * g * weight2;
        exp_avg[i] = m;
        exp_avg_sq[i] = v;
        p[i] = (decoupled ? p[i] * decay : p[i]) - m / (NAME(root)(v) * share + rest) * rate;
    }
}

INLINE REAL NAME(slowed)(REAL move, REAL *buffer, ptrdiff_t i, REAL momentum)
{
    return buffer == NULL ? move : (buffer[i] = buffer[i] * momentum + move);
}

STEP(rmsprop)
{
    REAL *restrict p = own[0], *restrict square_avg = own[1];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(6);
    REAL decay = x[0], alpha = x[1], weight = x[2], eps = x[3], lr = x[4], momentum = x[5];
    bool maximize = flag[0], decays = flag[1], centered = flag[2];
    REAL *restrict grad_avg = centered ? own[2] : NULL, *restrict buffer = own[centered ? 3 : 2];
    if (!centered) {
        EACH {
            REAL g = NAME(descent)(grad[i], p[i], maximize, decays, decay);
            REAL v = square_avg[i] * alpha + g * g * weight;
            square_avg[i] = v;
            p[i] -= NAME(slowed)(g / (NAME(root)(v) + eps), buffer, i, momentum) * lr;
        }
        return;
    }
    EACH {
        REAL g = NAME(descent)(grad[i], p[i], maximize, decays, decay);
        REAL v = square_avg[i] * alpha + g * g * weight, m = grad_avg[i] + (g - grad_avg[i]) * weight;
        square_avg[i] = v;
        grad_avg[i] = m;
        p[i] -= NAME(slowed)(g / (NAME(root)(v - m * m) + eps), buffer, i, momentum) * lr;
    }
}

STEP(rprop)
{
    REAL *restrict p = own[0], *restrict prev = own[1], *restrict step_size = own[2];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(4);
    REAL shrink = x[0], grow = x[1], smallest = x[2], largest = x[3];
    bool maximize = flag[0];
    EACH {
        REAL g = maximize ? -grad[i] : grad[i], agreement = g * prev[i];
        REAL size = step_size[i] * (agreement > 0 ? grow : agreement < 0 ? shrink : 1);
        size = size < smallest ? smallest : size;
        size = size > largest ? largest : size;
        g = agreement < 0 ? g * 0 : g;
        prev[i] = g;
        step_size[i] = size;
        p[i] -= (g > 0 ? size : g < 0 ? -size : 0);
    }
}

STEP(adagrad)
{
    REAL *restrict p = own[0], *restrict total = own[1];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(3);
    REAL decay = x[0], rate = x[1], eps = x[2];
    bool maximize = flag[0], decays = flag[1];
    EACH {
        REAL g = NAME(descent)(grad[i], p[i], maximize, decays, decay), sum = total[i] + g * g;
        total[i] = sum;
        p[i] -= g / (NAME(root)(sum) + eps) * rate;
    }
}

STEP(adadelta)
{
    REAL *restrict p = own[0], *restrict square_avg = own[1], *restrict acc_delta = own[2];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(5);
    REAL decay = x[0], rho = x[1], weight = x[2], eps = x[3], lr = x[4];
    bool maximize = flag[0], decays = flag[1];
    EACH {
        REAL g = NAME(descent)(grad[i], p[i], maximize, decays, decay), v = square_avg[i] * rho + g * g * weight;
        REAL delta = NAME(root)(acc_delta[i] + eps) / NAME(root)(v + eps) * g;
        square_avg[i] = v;
        acc_delta[i] = acc_delta[i] * rho + delta * delta * weight;
        p[i] -= delta * lr;
    }
}

STEP(asgd)
{
    REAL *restrict p = own[0], *restrict average = own[1];
    const REAL *restrict grad = gradient;
    READ_NUMBERS(4);
    REAL decay = x[0], shrink = x[1], eta = x[2], mu = x[3];
    bool maximize = flag[0], decays = flag[1];
    EACH {
        REAL now = p[i] * shrink - NAME(descent)(grad[i], p[i], maximize, decays, decay) * eta;
        p[i] = now;
        average[i] += (now - average[i]) * mu;
    }
}

#undef EACH
#undef STEP
#undef READ_NUMBERS
