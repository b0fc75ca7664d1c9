import type { ApiFailure } from '../../client/http/failure.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf, NodeProxyError } from '../../lib/error.ts'
import type { EnforcerObserver } from '../../policy/nftables/enforcer.ts'
import { FailureLog } from '../../telemetry/failure-log.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import { describeRefusal } from '../../watch/policy-watcher.ts'

/** The page about all of this. */
export const PAGE = 'docs/operate/network-policy.md'

/** The reason of the condition while the kernel refuses rules of policies. */
export const FAILING = 'network-policy-failing'

/** How many refused objects a condition names. */
const MAX_NAMED = 3

/** Where the work of an enforcer is reported. */
interface ObserverParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly metrics: Pick<
    Metrics,
    'policySync' | 'policyDrift' | 'policyFailures' | 'policyLastFailure' | 'policyConnectionsCut'
  >
  /** Called after each run that succeeded, at least in part. */
  readonly onApplied: () => void
}

/** Reports what an enforcer does: metrics, log, and a condition while something is not in force. */
export function observePolicies(parts: ObserverParts): EnforcerObserver {
  const { clock, log, conditions, metrics, onApplied } = parts
  const failures = new FailureLog({ clock, log })

  function count(code: string, amount = 1): void {
    metrics.policyFailures.inc({ code }, amount)
    metrics.policyLastFailure.set(clock.now() / 1_000)
  }

  function report(message: string, error: unknown): void {
    const code = error instanceof NodeProxyError ? error.code : 'unexpected'
    count(code)
    failures.report(message, {
      level: 'error',
      fields: { err: error },
      message,
      summary: () => ({ code }),
    })
  }

  return {
    applied({ durationMs, refused }) {
      metrics.policySync.observe(durationMs / 1_000)
      if (refused.size === 0) conditions.clear(FAILING)
      else {
        count('NP_POLICY_REFUSED', refused.size)
        const named = [...refused.values()].slice(0, MAX_NAMED).map(({ message }) => message)
        const more = refused.size > MAX_NAMED ? `; and ${refused.size - MAX_NAMED} more` : ''
        raise(`the kernel refuses ${named.join('; ')}${more}`)
      }
      onApplied()
    },
    drifted(names, by) {
      metrics.policyDrift.inc(names.length)
      const shown = names.slice(0, MAX_NAMED)
      log.warn(
        { objects: shown, count: names.length, by },
        'rules of NetworkPolicies were repaired',
      )
    },
    failed(error) {
      report('writing the rules of NetworkPolicies failed; it is tried again', error)
      raise(`the rules of NetworkPolicies cannot be written: ${messageOf(error)}`)
    },
    flowsCut(flows) {
      metrics.policyConnectionsCut.inc(flows)
      log.info({ connections: flows }, 'cut connections that policies no longer admit')
    },
    flowsFailed(error) {
      report('cutting connections that policies no longer admit failed; it is tried again', error)
    },
  }

  function raise(what: string): void {
    const message = `${what}; what is not in force admits less, not more; it is tried again`
    conditions.raise(FAILING, { message, blocksReadiness: false })
  }
}

/**
 * Logs that the API forbids ClusterNetworkPolicies that it has, or (undefined) no longer does; returns why they are not
 * read. Everything else is enforced, and so is what was read of them before.
 */
export function reportForbidden(
  failure: ApiFailure | undefined,
  log: Pick<Logger, 'info' | 'warn'>,
): string | undefined {
  if (failure === undefined) {
    log.info('ClusterNetworkPolicies are read again')
    return undefined
  }
  const why = describeRefusal({ resources: ['clusternetworkpolicies'], failure })
  const message = `ClusterNetworkPolicies are not read, NetworkPolicies are enforced: ${why}; see ${PAGE}`
  log.warn({ why }, message)
  return why
}
