import type { Removal } from '../../modes/definition/mode-definition.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { ROUTE_LOCALNET } from '../kernel/sysctls.ts'
import type { LoopbackRouting } from './loopback-routing.ts'

/**
 * Closes loopback routing, then calls `remove`, which also removes the guards of the modes. If loopback routing cannot
 * be closed, the guard that belongs to no mode stays. If that guard cannot be written either, `remove` is not called,
 * so that the guards of the modes stay. If another program had opened loopback routing, it stays open, without a guard.
 * @returns the errors; empty if everything was removed
 */
export async function removeBehindGuard(
  loopback: Pick<LoopbackRouting, 'close' | 'guard' | 'unguard'>,
  log: Pick<Logger, 'warn'>,
  remove: () => Promise<readonly unknown[]>,
): Promise<readonly unknown[]> {
  let outcome: Awaited<ReturnType<LoopbackRouting['close']>>
  try {
    outcome = await loopback.close()
  } catch (error) {
    const unguarded = await removeAll([() => loopback.guard()])
    return [error, ...(unguarded.length > 0 ? unguarded : await remove())]
  }
  const failures = await remove()
  if (outcome === 'closed') return failures
  const own = await removeAll([() => loopback.unguard()])
  if (own.length === 0) {
    log.warn(
      { sysctl: ROUTE_LOCALNET },
      'another program set route_localnet before node-proxy started, so it stays 1: neighbours can reach services on 127.0.0.1 now (CVE-2020-8558); set it to 0 unless that program needs it',
    )
  }
  return [...failures, ...own]
}

/**
 * Runs the removals in order, then repeats the failed ones once, because an object can be in use until another one
 * is removed.
 * @returns the errors of the second attempts
 */
export async function removeAll(removals: readonly Removal[]): Promise<readonly unknown[]> {
  const again: Removal[] = []
  for (const removal of removals) await removal().catch(() => again.push(removal))
  const failures: unknown[] = []
  for (const removal of again) await removal().catch((error: unknown) => failures.push(error))
  return failures
}
