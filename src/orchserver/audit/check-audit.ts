import { readAuditPolicy } from '../../apiserver/audit/policy/read-policy.ts'
import { loadKubeconfig } from '../../client/connection/kubeconfig.ts'
import { systemClock } from '../../lib/clock.ts'
import type { AuditSettings } from './open-audit-log.ts'

/**
 * Reads the files that settings of the audit log name, and makes nothing.
 * @throws NP_APISERVER_AUDIT_POLICY, NP_CLIENT_KUBECONFIG and other codes of kubeconfigs
 */
export async function checkAudit({
  policyFile,
  webhookConfigFile,
}: Pick<AuditSettings, 'policyFile' | 'webhookConfigFile'>): Promise<void> {
  if (policyFile !== '') await readAuditPolicy(policyFile)
  if (webhookConfigFile === '') return
  await loadKubeconfig({ path: webhookConfigFile, master: undefined, clock: systemClock })
}
