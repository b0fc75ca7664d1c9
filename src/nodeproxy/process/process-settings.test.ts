import { expect, test } from 'vitest'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { applyProcessSettings } from './process-settings.ts'

test('a score that cannot be set is a warning, and only once until another score is configured', async () => {
  const { log, lines } = recordingLog()
  const tried: number[] = []
  const setScore = async (score: number) => {
    tried.push(score)
    return new Error('EACCES')
  }
  const first = configuration({ oomScoreAdj: -999 })
  const verbose = configuration({ oomScoreAdj: -999, 'logging.verbosity': 3 })
  await applyProcessSettings(first, { log, setScore })
  await applyProcessSettings(verbose, { log, setScore, before: first })
  expect([tried, lines.length, log.level]).toEqual([[-999], 1, 'debug'])
  await applyProcessSettings(configuration({ oomScoreAdj: 0 }), { log, setScore, before: verbose })
  expect([tried, lines.length]).toEqual([[-999, 0], 2])
})
