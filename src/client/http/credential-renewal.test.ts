import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { fixedCredential } from '../connection/credential/credential.ts'
import { CredentialRenewal } from './credential-renewal.ts'
import type { ApiResult } from './failure.ts'
import { statusFailure } from './failure.ts'

const MINUTE = 60_000
const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 1)
const ISSUED = START / 1_000
const ACCOUNT = { sub: 'system:serviceaccount:kube-system:node-proxy', aud: ['a', 'b'] }

function jwt(claims: object): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${'s'.repeat(8)}`
}

interface Given {
  readonly claims?: object
  /** How the server answers a request; undefined: it grants the next token. */
  readonly refusal?: () => ApiResult<never> | undefined
  readonly unwritten?: () => string | undefined
  /** 0 to 999: how late a renewal is within its spread. */
  readonly spread?: number
}

/** A renewal of a token for 10 hours, from `START`. */
function renewal({ claims = {}, refusal, unwritten, spread = 0 }: Given = {}) {
  const clock = new FakeClock(START)
  const requests: { readonly at: number; readonly path: string; readonly body: unknown }[] = []
  const logged: string[] = []
  const problems: (readonly string[])[] = []
  const write = (_fields: unknown, message: string): void => void logged.push(message)
  let present = jwt({ ...ACCOUNT, iat: ISSUED, exp: ISSUED + 36_000, ...claims })
  const credentials = {
    ...fixedCredential({}),
    renewable: {
      present: () => present,
      replace(token: string) {
        present = token
        return Promise.resolve(unwritten?.())
      },
    },
  }
  const renewing = new CredentialRenewal({
    connection: { credentials, source: 'kubeconfig "/k"' },
    clock,
    random: { below: () => spread },
    log: { info: write, warn: write } as never,
    onProblems: (found) => problems.push(found),
  })
  const create = (path: string, body: unknown): Promise<ApiResult<unknown>> => {
    requests.push({ at: (clock.now() - START) / MINUTE, path, body })
    const refused = refusal?.()
    if (refused !== undefined) return Promise.resolve(refused)
    const iat = clock.now() / 1_000
    const token = jwt({ ...ACCOUNT, iat, exp: iat + 36_000 })
    const status = { token, expirationTimestamp: 'then' }
    return Promise.resolve({ ok: true, value: { spec: { expirationSeconds: 36_000 }, status } })
  }
  renewing.authenticated('token', { from: START, to: START + 10 * HOUR })
  renewing.start({ create })
  return {
    renewing,
    clock,
    requests,
    logged,
    problems,
    setToken: (token: string) => (present = token),
  }
}

const FORBIDDEN: ApiResult<never> = {
  ok: false,
  failure: statusFailure(403, { kind: 'Status', reason: 'Forbidden', message: 'no right' }),
}

test('a token is renewed after 60 % of its life, with its audiences and its life, again and again', async () => {
  const { clock, requests, logged, problems } = renewal()
  await clock.advance(6 * HOUR - 1)
  expect(requests).toEqual([])
  await clock.advance(18 * HOUR + 1)
  expect(requests.map(({ at }) => at / 60)).toEqual([6, 12, 18, 24])
  expect(requests[0]).toMatchObject({
    path: '/api/v1/namespaces/kube-system/serviceaccounts/node-proxy/token',
    body: { kind: 'TokenRequest', spec: { audiences: ['a', 'b'], expirationSeconds: 36_000 } },
  })
  expect(logged).toEqual(
    Array.from({ length: 4 }, () => 'the token of kubeconfig "/k" was renewed'),
  )
  expect(problems).toEqual([])
})

test('nodes that got their tokens together renew them within a tenth of the life', async () => {
  const { clock, requests } = renewal({ spread: 999 })
  await clock.advance(8 * HOUR)
  expect(requests.map(({ at }) => at / 60)).toEqual([7])
})

test('a token that is due already is renewed at the start', async () => {
  const issued = ISSUED - 8 * 3_600
  const { clock, requests } = renewal({ claims: { iat: issued, exp: issued + 36_000 } })
  await clock.advance(0)
  expect(requests.map(({ at }) => at)).toEqual([0])
})

test.each([
  ['of a user', { sub: 'ann' }],
  ['of an account in no namespace', { sub: 'system:serviceaccount:node-proxy' }],
  ['bound to a Pod', { 'kubernetes.io': { pod: { name: 'p', uid: 'u' } } }],
  ['bound to a Secret', { 'kubernetes.io': { secret: { name: 'p', uid: 'u' } } }],
  ['bound to a Node', { 'kubernetes.io': { node: { name: 'p', uid: 'u' } } }],
  ['without an end', { exp: undefined }],
  ['without a beginning', { iat: undefined }],
])('a token %s is not renewed', async (_, claims) => {
  const { clock, requests } = renewal({ claims })
  await clock.advance(11 * HOUR)
  expect(requests).toEqual([])
})

test('a refusal is logged once and tried again ever more rarely; it is a problem from a fifth of the life on', async () => {
  let refuses = true
  const refusal = () => (refuses ? FORBIDDEN : undefined)
  const { clock, requests, logged, problems } = renewal({ refusal })
  await clock.advance(8 * HOUR - 1)
  expect(problems).toEqual([])
  expect(logged).toEqual([
    'the token of kubeconfig "/k": it cannot be renewed: 403 Forbidden: no right; grant create of serviceaccounts/token for kube-system/node-proxy (RBAC)',
  ])
  const pauses = requests.map(({ at }, index) => at - (requests[index - 1]?.at ?? 360))
  expect(pauses.slice(0, 7)).toEqual([0, 1, 1, 2, 4, 8, 16])
  expect(Math.max(...pauses)).toBe(30)
  await clock.advance(MINUTE)
  expect(problems).toEqual([
    [
      'the token of kubeconfig "/k" expires at 2026-01-01T10:00:00.000Z: it cannot be renewed: 403 Forbidden: no right; grant create of serviceaccounts/token for kube-system/node-proxy (RBAC)',
    ],
  ])
  refuses = false
  await clock.advance(HOUR)
  expect(problems.at(-1)).toEqual([])
})

test('one that is refused with 401 is to be written anew; a new one in the file begins afresh', async () => {
  const failure = statusFailure(401, { kind: 'Status', reason: 'Unauthorized', message: 'who?' })
  const { clock, requests, logged, setToken } = renewal({ refusal: () => ({ ok: false, failure }) })
  await clock.advance(11 * HOUR)
  expect(logged.at(-1)).toMatch(/401 Unauthorized: who\?; write a new token there$/)
  const before = requests.length
  const iat = clock.now() / 1_000
  setToken(jwt({ ...ACCOUNT, iat, exp: iat + 36_000 }))
  await clock.advance(6 * HOUR - MINUTE)
  expect(requests.length).toBe(before)
  await clock.advance(MINUTE)
  expect(requests.length).toBe(before + 1)
})

test('a renewed token that is in memory only is a problem until one was written', async () => {
  let reason: string | undefined = 'EROFS'
  const { clock, problems } = renewal({ unwritten: () => reason })
  await clock.advance(6 * HOUR)
  expect(problems).toEqual([
    [
      'the renewed token of kubeconfig "/k" could not be written there (EROFS), so a restart begins with the old one: make the file and its folder writable, or write a new token there',
    ],
  ])
  reason = undefined
  await clock.advance(6 * HOUR)
  expect(problems.at(-1)).toEqual([])
})

test('credentials that others renew are reported when they should have been, and once they have ended', async () => {
  const { renewing, clock, problems } = renewal({ claims: { sub: 'ann' } })
  renewing.authenticated('token', undefined)
  renewing.authenticated('certificate', { from: START, to: START + 10 * HOUR })
  renewing.authenticated('token-file', { from: START, to: START + 10 * HOUR })
  await clock.advance(8 * HOUR)
  const certificate = 'the certificate of kubeconfig "/k" expires at 2026-01-01T10:00:00.000Z'
  expect(problems).toEqual([
    [`${certificate}: replace it; the file is read again without a restart`],
  ])
  await clock.advance(HOUR)
  expect(problems.at(-1)).toEqual([
    expect.stringContaining(certificate),
    'the token file of kubeconfig "/k" expires at 2026-01-01T10:00:00.000Z: repair what renews the file',
  ])
  renewing.authenticated('token-file', undefined)
  await clock.advance(HOUR)
  expect(problems.at(-1)).toEqual([expect.stringContaining('expired at 2026-01-01T10:00')])
  renewing.close()
  expect(clock.pending()).toEqual([])
})
