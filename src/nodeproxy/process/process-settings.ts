import { readFile, writeFile } from 'node:fs/promises'
import { NodeProxyError, systemCode } from '../../lib/error.ts'
import { type Logger, levelOf } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'

type Settings = Pick<NodeProxyConfiguration, 'logging' | 'oomScoreAdj'>

/** What `applyProcessSettings` uses. */
export interface ProcessParts {
  readonly log: Logger
  /** The previous settings; absent at the start. The OOM score is set only if it differs from the previous one. */
  readonly before?: Settings
  /** Resolves with an error when the score could not be set. Default: `setOomScore`. */
  readonly setScore?: (score: number) => Promise<Error | undefined>
}

/** Applies the settings of the process itself: the log level and the OOM score. Logs a warning if the latter fails. */
export async function applyProcessSettings(
  { logging, oomScoreAdj }: Settings,
  { log, before, setScore = setOomScore }: ProcessParts,
): Promise<void> {
  log.level = levelOf(logging.verbosity)
  if (before?.oomScoreAdj === oomScoreAdj) return
  const failure = await setScore(oomScoreAdj)
  if (failure) log.warn({ err: failure }, 'setting the OOM score failed; it stays as it was')
}

/**
 * Sets oom_score_adj of this process, −1000 to 1000 (see proc(5)). The kernel kills processes with a higher value
 * earlier. Lowering the value needs CAP_SYS_RESOURCE, which the process may not have.
 * @returns NP_NODEPROXY_OOM_SCORE if the value could not be set
 */
export async function setOomScore(
  score: number,
  file = '/proc/self/oom_score_adj',
): Promise<NodeProxyError | undefined> {
  try {
    if (Number(await readFile(file, 'utf8')) !== score) await writeFile(file, String(score))
    return undefined
  } catch (cause) {
    const code = systemCode(cause)
    return new NodeProxyError('NP_NODEPROXY_OOM_SCORE', `cannot set ${file} to ${score}: ${code}`, {
      object: file,
      hint: 'add CAP_SYS_RESOURCE, or set oomScoreAdj to the present value of the process',
      cause,
    })
  }
}

/** The longest period of a timer of Node, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Keeps the process alive while `work` runs. While another process has the daemon's ports and
 * the API server is unreachable, only unreferenced timers are pending, and Node would exit.
 */
export async function keepAlive<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, MAX_TIMER_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
