import { type Logger, levelOf } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'
import { setOomScore } from './oom-score.ts'

type Settings = Pick<NodeProxyConfiguration, 'logging' | 'oomScoreAdj'>

/** How the settings are applied. */
export interface ProcessParts {
  readonly log: Logger
  /** The previous settings; the same OOM score is not set again. */
  readonly before?: Settings
  /** Resolves with an error when the score could not be set. Default: `setOomScore`. */
  readonly setScore?: (score: number) => Promise<Error | undefined>
}

/** Applies the settings of the process itself: the log level and the OOM score. */
export async function applyProcessSettings(
  { logging, oomScoreAdj }: Settings,
  { log, before, setScore = setOomScore }: ProcessParts,
): Promise<void> {
  log.level = levelOf(logging.verbosity)
  if (before?.oomScoreAdj === oomScoreAdj) return
  const unset = await setScore(oomScoreAdj)
  if (unset) log.warn({ err: unset }, 'setting the OOM score failed; it stays as it was')
}
