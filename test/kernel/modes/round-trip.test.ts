import { expect, test } from 'vitest'
import { runInside } from '../interfaces/run-inside.ts'

const clean = { written: true, failed: [], changes: [], wanted: {}, left: [] }

/** Otherwise a clean node would report drift, or repair what is right. */
test.each(['nft', 'legacy'])(
  '%s shows every rule as we wrote it, and all of it can go',
  async (backend) => {
    const results = await runInside('../modes/round-trip.script.ts', { args: [backend] })
    expect(results).toEqual({
      'by source': clean,
      'by source, everything': clean,
      'by bridge': clean,
      'by interface prefix': clean,
      'nothing distinguishes pods': clean,
    })
  },
)
