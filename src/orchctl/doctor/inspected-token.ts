import { open } from 'node:fs/promises'
import { decodeJwt } from 'jose'
import { invalidTime } from '../../client/connection/credential/validity.ts'
import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { judgeToken } from '../../doctor/judge-token.ts'
import { systemCode } from '../../lib/error.ts'
import { isJsonObject, type Json, type JsonObject, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'

/** The most bytes of a token. */
const LIMIT = 64 * 1024

/** What is wrong with the token in a file (`-`: standard input). It is sent only to the API server, and never shown. */
export async function tokenFindings(
  file: string,
  evidence: ClusterEvidence,
  context: CommandContext,
): Promise<readonly Finding[]> {
  const token = (await readToken(file, context)).trim()
  const payload = claimsOf(token)
  if (payload === undefined) {
    throw usageError(
      `--token-file ${quote(file)} holds no token`,
      'a token is a JWT: three parts, joined by dots',
    )
  }
  const isAccepted = await reviewToken(token, [], context)
  const audiences = [valueAt(payload, 'aud') ?? []].flat().filter((one) => typeof one === 'string')
  const isAcceptedForItsAudience =
    isAccepted === false && audiences.length > 0
      ? await reviewToken(token, audiences, context)
      : undefined
  const found = judgeToken(
    { payload, now: Date.now(), isAccepted, isAcceptedForItsAudience },
    evidence,
  )
  return found === undefined ? [] : [found]
}

/** The claims of a JSON Web Token, not verified; undefined: it is not a JSON Web Token. */
function claimsOf(token: string): JsonObject | undefined {
  try {
    const payload = decodeJwt(token) as Json
    return isJsonObject(payload) ? payload : undefined
  } catch {
    return undefined
  }
}

async function readToken(file: string, { host }: CommandContext): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  const source = file === '-' ? host.stdin : await fileBytes(file)
  for await (const part of source) {
    parts.push(Buffer.from(part))
    size += part.length
    if (size > LIMIT) throw usageError(`--token-file ${quote(file)} is larger than a token`)
  }
  return Buffer.concat(parts).toString('utf8')
}

async function fileBytes(file: string): Promise<AsyncIterable<Uint8Array | string>> {
  const opened = await open(file).catch((error: unknown) => {
    const code = systemCode(error)
    throw usageError(`--token-file ${quote(file)} cannot be read: ${code}`)
  })
  return opened.createReadStream()
}

/** Whether the API server accepts a token, by default for the server's audiences; undefined: no review was possible. */
export async function reviewToken(
  token: string,
  audiences: readonly string[],
  context: CommandContext,
): Promise<boolean | undefined> {
  const { api } = await context.session()
  const answer = await api.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, ...(audiences.length > 0 && { audiences: [...audiences] }) },
    },
  })
  if (answer.ok) return valueAt(answer.value.body, 'status', 'authenticated') === true
  context.notice(`the API server did not review the token: ${answer.failure.message}`)
  return undefined
}

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
