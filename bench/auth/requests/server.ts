import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createApiServer } from '../../../src/apiserver/api-server.ts'
import { readSigningKey } from '../../../src/auth/tokens/signing-key.ts'
import { TokenIssuer } from '../../../src/auth/tokens/token-issuer.ts'
import { MASTERS } from '../../../src/auth/user.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type Json, stringAt } from '../../../src/lib/json.ts'
import { userCertificate } from '../../../src/orchserver/access/issued-certificate.ts'
import { readAuthority } from '../../../src/orchserver/certificates/authority.ts'
import { newKey } from '../../../src/orchserver/certificates/pem.ts'
import { madeCertificate } from '../../../src/orchserver/certificates/serving-certificate.ts'
import { openEmbeddedStore } from '../../../src/storage/embedded/embedded-store.ts'
import type { SubjectName } from '../../report/auth/results.ts'
import { openFileAudit } from './file-audit.ts'
import type { LastReport, ServerReport } from './report.ts'

const ISSUER = 'https://orch.default.svc'
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
const USER = 'bench'
const DAY = 86_400_000

/** Serves HTTPS over an embedded store until its standard input ends. */
async function main(subject: SubjectName, folder: string): Promise<void> {
  const directory = join(folder, 'data')
  const store = await openEmbeddedStore({ directory })
  const key = readSigningKey(newKey(), 'the benchmark')
  const issuer = new TokenIssuer({ issuer: ISSUER, key, clock: systemClock, newId: randomUUID })
  const administrator = randomUUID()
  const identity = {
    issuers: [ISSUER],
    audiences: [ISSUER],
    keys: () => [key],
    issuer,
    authenticators: [
      {
        authenticate: ({ bearerToken }: { readonly bearerToken?: string }) =>
          Promise.resolve(
            bearerToken === administrator
              ? { user: { name: 'root', groups: [MASTERS] } }
              : undefined,
          ),
      },
    ],
  }
  const knowsUsers = subject !== 'none' && subject !== 'ignored'
  const audit = subject === 'audited' ? await openFileAudit(folder) : undefined
  const server = createApiServer({
    store,
    ...(knowsUsers && { identity }),
    ...(audit && { audit: audit.log }),
  })
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] }
  const tls = await madeCertificate({ folder, names, clock: systemClock }).current()
  const clientAuthorities = tls.authority!
  const front = await server.listen({ tls, ...(knowsUsers && { clientAuthorities }) })
  const plain = await server.listen()
  const post = (path: string, object: object) =>
    postAs({ administrator, url: plain.url + path, object })
  const report: ServerReport = {
    pid: process.pid,
    url: front.url,
    ca: clientAuthorities,
    ...(hasToken(subject) && { token: await accountToken(issuer, post) }),
    ...(subject === 'certificate' && (await certificate(folder, post))),
  }
  process.stdout.write(`${JSON.stringify(report)}\n`)
  for await (const _ of process.stdin) continue
  await server.close()
  await audit?.log.close()
  await store.close()
  const last: LastReport = { droppedEvents: audit?.droppedEvents() ?? 0 }
  process.stdout.write(`${JSON.stringify(last)}\n`)
}

function hasToken(subject: SubjectName): boolean {
  return subject === 'token' || subject === 'audited' || subject === 'ignored'
}

type Post = (path: string, object: object) => Promise<Json>

/** A token of an account that may edit Services. */
async function accountToken(issuer: TokenIssuer, post: Post): Promise<string> {
  const made = await post(ACCOUNTS, { metadata: { name: USER } })
  await bind(post, { kind: 'ServiceAccount', namespace: 'default', name: USER })
  const account = { name: USER, uid: stringAt(made, 'metadata', 'uid') }
  const claims = { namespace: 'default', account }
  return (await issuer.issue({ claims, audiences: [ISSUER], lifetimeSeconds: 3600 })).token
}

/** A certificate of a user who may edit Services. */
async function certificate(folder: string, post: Post) {
  await bind(post, { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER })
  const user = { user: USER, groups: ['dev'], life: DAY }
  return userCertificate(await readAuthority(folder), user, Date.now())
}

async function bind(post: Post, subject: object): Promise<void> {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' }
  await post(BINDINGS, { metadata: { name: USER }, roleRef, subjects: [subject] })
}

interface Posted {
  readonly administrator: string
  readonly url: string
  readonly object: object
}

async function postAs({ administrator, url, object }: Posted): Promise<Json> {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${administrator}`,
  }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(object) })
  if (answer.status !== 201) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Json
}

const [, , subject, folder = ''] = process.argv
await main(subject as SubjectName, folder)
