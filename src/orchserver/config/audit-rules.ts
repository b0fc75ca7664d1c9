import type { Rule } from '../../settings/rules.ts'
import type { OrchServerConfiguration } from './configuration.ts'
import { isRotationSet } from './log-rotation.ts'

/**
 * Settings of the audit log that do not go together. That nothing is recorded is noticed
 * when a record is needed, so a policy without an output, and an output without a policy, are refused.
 */
export const AUDIT_RULES: readonly Rule<OrchServerConfiguration>[] = [
  ({ audit }) =>
    audit.policyFile === '' || audit.logPath + audit.webhookConfigFile !== ''
      ? undefined
      : {
          paths: ['audit.policyFile'],
          message:
            'a policy without an output records nothing; set --audit-log-path or --audit-webhook-config-file',
        },

  ({ audit }) =>
    audit.policyFile !== '' || audit.logPath + audit.webhookConfigFile === ''
      ? undefined
      : {
          paths: ['audit.logPath', 'audit.webhookConfigFile'],
          message: 'without a policy nothing is recorded; set --audit-policy-file',
        },

  ({ audit }) =>
    !['', '-'].includes(audit.logPath) || !isRotationSet(audit)
      ? undefined
      : {
          paths: ['audit.logMaxMegabytes', 'audit.logMaxBackups', 'audit.logMaxAgeDays'],
          message: 'only a file is rotated; set --audit-log-path to its path',
        },
]
