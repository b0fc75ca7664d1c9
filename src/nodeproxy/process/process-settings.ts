import { readFile, writeFile } from 'node:fs/promises'
import { NodeProxyError, systemCode } from '../../lib/error.ts'
import { type Logger, levelOf } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'

/** The fields of the configuration that concern the process itself. */
type Settings = Pick<NodeProxyConfiguration, 'logging' | 'oomScoreAdj'>

/** What `applyProcessSettings` uses to apply the settings. */
export interface ProcessParts {
  readonly log: Logger
  /** The previous settings; undefined at the first call. An OOM score that did not change is not set again. */
  readonly before?: Settings
  /** Sets the OOM score; resolves with an error when it could not be set. Default: `setOomScore`. */
  readonly setScore?: (score: number) => Promise<Error | undefined>
}

/** Sets the log level and the OOM score. An OOM score that cannot be set is only logged. */
export async function applyProcessSettings(
  { logging, oomScoreAdj }: Settings,
  { log, before, setScore = setOomScore }: ProcessParts,
): Promise<void> {
  log.level = levelOf(logging.verbosity)
  if (before?.oomScoreAdj === oomScoreAdj) return
  const error = await setScore(oomScoreAdj)
  if (error) log.warn({ err: error }, 'setting the OOM score failed; it stays as it was')
}

/**
 * Sets oom_score_adj of this process (proc(5)): −1000 to 1000; the kernel kills processes with a higher value earlier.
 * Lowering it needs CAP_SYS_RESOURCE, which the process may not have.
 * @returns NP_NODEPROXY_OOM_SCORE when it could not be set; otherwise undefined
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

/** The longest period of a timer in Node, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Keeps the process alive while `work` runs; returns its result. Node exits when only unreferenced timers are pending.
 * This is the case while another process has the daemon's ports and the API server is unreachable.
 */
export async function keepAlive<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, MAX_TIMER_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
