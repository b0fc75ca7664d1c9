import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { hasEtcd } from '../support/etcd/has-etcd.ts'
import { createAnonymous, createAttacker } from '../support/hostile/attacker.ts'
import { installedKubectls } from '../support/kubectl/installed.ts'
import { openShell } from '../support/kubectl/shell.ts'
import { type AuditedServer, startAuditedServer } from '../support/secrets/audited-server.ts'
import { type Careless, makeObjects, useObjects } from '../support/secrets/careless-clients.ts'
import { failToWrite } from '../support/secrets/failing-writes.ts'
import { KnownValues } from '../support/secrets/known-values.ts'
import { misplaceCredentials, type Statuses } from '../support/secrets/misplaced-credentials.ts'
import { SEARCHED_STORES, type SearchedStore } from '../support/secrets/searched-stores.ts'

/** The most that a policy can require: every request, with both bodies. */
const EVERYTHING = `apiVersion: audit.orch.io/v1
kind: Policy
rules: [{level: RequestResponse}]
`

/** How the store keeps the values of ConfigMaps, which are no secrets. */
const SETTINGS = ['setting: in clear', 'binary setting: base64', 'patched setting: in clear']

/** What a server and its store leave behind, by what it is. */
type Left = Readonly<
  Record<'logs' | 'audit log' | 'webhook' | 'metrics' | 'backup' | 'files', Buffer>
>

/** All that was done to a server, and what is left of it. */
interface Run {
  readonly careless: Careless
  readonly left: Left
  /** Of writes that should fail. */
  readonly statuses: Statuses
  /** Of tokens. */
  readonly accepted: Statuses
}

async function run(store: SearchedStore): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'np-secrets-'))
  using cleanup = new DisposableStack()
  cleanup.defer(() => rmSync(folder, { recursive: true }))
  const policy = join(folder, 'policy.yaml')
  writeFileSync(policy, EVERYTHING)
  await using audited = await startAuditedServer(policy, ['-v=10', ...store.flags])
  const { server } = audited
  const careless: Careless = {
    admin: await createAttacker(server),
    anonymous: await createAnonymous(server),
    secrets: new KnownValues(),
    settings: new KnownValues(),
    refusals: [],
  }
  const tokens = await makeObjects(careless)
  await useObjects(careless)
  const statuses = await failToWrite(careless)
  const key = join(server.dataDir, 'pki', 'sa.key')
  const accepted = await misplaceCredentials(careless, tokens, key)
  await useKubectl(audited, careless.secrets)
  return { careless, left: await collect(audited, careless, store), statuses, accepted }
}

/** The commands of an operator, with as many messages as there are. */
async function useKubectl({ server }: AuditedServer, secrets: KnownValues): Promise<void> {
  const kubectl = installedKubectls().at(-1)
  if (kubectl === undefined) return
  const { kubeconfig } = server
  const files = {
    'secret.yaml': `{apiVersion: v1, kind: Secret, metadata: {name: file}, stringData: {a: ${JSON.stringify(secrets.make('file of kubectl'))}}}`,
    'changed.yaml': `{apiVersion: v1, kind: Secret, metadata: {name: file}, stringData: {a: ${JSON.stringify(secrets.make('changed file'))}}}`,
    'wrong.yaml': `{apiVersion: v1, kind: Secret, metadata: {name: wrong}, data: {a: ${JSON.stringify(secrets.make('wrong file'))}}}`,
    literal: secrets.make('literal of kubectl'),
  }
  await using shell = await openShell({ kubectl, kubeconfig, namespace: 'kubectl', files })
  const { status, text } = await shell.run(`
    kubectl create secret generic one -v=9 --from-literal="a=$(cat literal)" --from-file=literal &&
    kubectl apply -v=9 -f secret.yaml && kubectl apply -v=9 -f changed.yaml &&
    kubectl get secrets -v=9 -o yaml && kubectl describe secrets &&
    ! kubectl apply -v=9 -f wrong.yaml && ! kubectl --token="$(cat literal)" -v=9 get secrets x`)
  if (status !== 0) throw new Error(text)
}

/** Everything that the server has written when it has stopped; a backup is made before. */
async function collect(
  audited: AuditedServer,
  { admin }: Careless,
  store: SearchedStore,
): Promise<Left> {
  const { server } = audited
  const pages = ['/metrics', '/readyz?verbose', '/healthz?verbose', '/livez?verbose']
  const answers = await Promise.all(pages.map((path) => admin.call('GET', path)))
  const backup = await store.backup(server)
  const running = await store.files(server)
  expect(await server.stop()).toBe(0)
  return {
    logs: audited.said(),
    'audit log': await audited.auditLog(),
    webhook: audited.posted(),
    metrics: Buffer.from(answers.map(({ text }) => text).join('\n')),
    backup,
    files: Buffer.concat([running, await store.files(server)]),
  }
}

const STORES = hasEtcd() ? (['embedded', 'etcd'] as const) : (['embedded'] as const)

describe.each(STORES)('with the store %s', (kind) => {
  let secrets: KnownValues
  let settings: KnownValues
  let done: Run
  let left: Left

  beforeAll(async () => {
    await using store = await SEARCHED_STORES[kind]()
    done = await run(store)
    left = done.left
    ;({ secrets, settings } = done.careless)
  })

  test('all of it was there to be searched', () => {
    expect(left.logs.toString()).toContain('orch-server is ready')
    expect(left.logs.toString()).toContain('orch-server stops')
    expect(left.metrics.toString()).toMatch(
      /orchserver_audit_events_total\{level="RequestResponse"\} \d/,
    )
    const lines = left['audit log'].toString().trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(500)
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('kind', 'Event')
    expect(left.webhook.toString()).toContain('"kind":"EventList"')
  })

  test('a value is found where it may be: those of ConfigMaps in the store and in a backup', () => {
    expect(settings.foundIn(left.files)).toEqual(SETTINGS)
    expect(settings.foundIn(left.backup)).toEqual(SETTINGS)
  })

  test('the writes of Secrets that should fail were refused', () => {
    expect(
      Object.entries(done.statuses).filter(([, status]) => status < 400 || status >= 500),
    ).toEqual([])
  })

  test('tokens that were issued were accepted, and no others', () => {
    expect(done.accepted).toEqual({
      'issued 0': 200,
      'issued 1': 200,
      'expired token': 401,
      'opaque token': 401,
      'token of another key': 401,
      'token of another algorithm': 401,
    })
  })

  test.each(['logs', 'audit log', 'webhook', 'metrics'] as const)('no value is in: %s', (place) => {
    expect(secrets.foundIn(left[place])).toEqual([])
    expect(settings.foundIn(left[place])).toEqual([])
  })

  test.each(['backup', 'files'] as const)(
    'no value of a Secret and no token is in: %s',
    (place) => {
      expect(secrets.foundIn(left[place])).toEqual([])
    },
  )

  test('no value is in an error', () => {
    const { refusals } = done.careless
    expect(refusals.length).toBeGreaterThan(150)
    expect(refusals.filter(({ text }) => secrets.foundIn(text).length > 0)).toEqual([])
  })
})
