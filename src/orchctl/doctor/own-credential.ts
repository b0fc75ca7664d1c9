import { invalidTime } from '../../client/connection/credential/validity.ts'
import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { judgeToken } from '../../doctor/judge-token.ts'
import type { CommandContext } from '../command/command-module.ts'
import { claimsOf } from './inspected-token.ts'

/**
 * What is wrong with the credential of the user, which the API server did not accept (401). Nothing else can be checked
 * with it.
 */
export async function ownCredential(
  evidence: ClusterEvidence,
  context: CommandContext,
): Promise<Finding> {
  const { connection } = await context.session()
  const now = Date.now()
  const { authorization, certificate } = await connection.credentials.current()
  const payload = claimsOf(authorization?.replace(/^Bearer /, '') ?? '')
  const ofToken =
    payload && judgeToken({ payload, now, isAccepted: false, ...UNKNOWN_AUDIENCE }, evidence)
  if (ofToken !== undefined) return ofToken
  const pem = certificate?.cert ?? (await connection.tls?.material())?.cert
  const fault = pem === undefined ? undefined : invalidTime(pem, now)
  return {
    check: 'own-credential',
    symptom: 'Permission denied',
    object: 'kubeconfig',
    affects: [],
    cause:
      fault?.replace(/^our /, 'the ') ??
      (authorization === undefined && pem === undefined
        ? 'there is no credential for the API server, which requires one'
        : 'the API server does not accept the credential'),
    evidence: [`401 from ${connection.origin}, which is the server of ${connection.source}`],
    remedy:
      'request a new credential from the operator of the cluster, or correct the clock of this machine',
    commands: ['orch-server kubeconfig --user=NAME', 'date -u'],
  }
}

/** A TokenReview needs a credential that the server accepts. */
const UNKNOWN_AUDIENCE = { isAcceptedForItsAudience: undefined }
