import fc from 'fast-check'

/** Of the examples that every run draws, unless `NP_SEED` says otherwise. */
const SEED = 1
const given = process.env['NP_SEED'] ?? String(SEED)
if (!/^(?:random|-?\d+)$/.test(given)) {
  throw new Error(`NP_SEED ${JSON.stringify(given)}: give a whole number, or "random"`)
}

/**
 * Properties draw the same examples in every run, so that a test that passed fails only for what was changed. Look for
 * new counterexamples with `NP_SEED=random`; the failure names its seed.
 */
fc.configureGlobal(given === 'random' ? {} : { seed: Number(given) })
