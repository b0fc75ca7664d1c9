import { type Logger, levelOf } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/configuration.ts'
import { setOomScore } from '../oom-score.ts'

/** What the configuration says about the process itself: how much it logs, when it is killed. */
export async function applyProcessSettings(
  { logging, oomScoreAdj }: Pick<NodeProxyConfiguration, 'logging' | 'oomScoreAdj'>,
  log: Logger,
): Promise<void> {
  log.level = levelOf(logging.verbosity)
  const unset = await setOomScore(oomScoreAdj)
  if (unset) log.warn({ err: unset }, 'the OOM score stays as it is')
}
