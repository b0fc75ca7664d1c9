import { openFilesLimit } from '../../lib/open-files-limit.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'

/** The store or the connections to etcd, certificates, and the controllers' own connections. */
const OWN_FILES = 100
/** The sandbox node's Pods are 110 at most; each has pipes and a file for its output. */
const POD_FILES = 110 * 8

/**
 * Warns when the process may open fewer files than its settings may make it need:
 * every watch and every request may be a connection of its own, and one that is
 * refused for lack of files looks to its client like a server that is gone.
 */
export function warnOfFewFiles(
  config: Pick<OrchServerConfiguration, 'limits' | 'sandboxNode'>,
  log: Pick<Logger, 'warn'>,
  limit: number = openFilesLimit(Infinity),
): void {
  const { watches, requestsInFlight, mutatingRequestsInFlight } = config.limits
  const requests = requestsInFlight + mutatingRequestsInFlight
  const own = OWN_FILES + (config.sandboxNode.enabled ? POD_FILES : 0)
  const needed = watches + requests + own
  if (limit >= needed) return
  log.warn(
    { limit, needed, watches, requests, own },
    'the limit of open files is small: raise it (LimitNOFILE= of the unit, ulimit -n), or lower --max-watches',
  )
}
