import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PODS } from '../../../src/apiserver/testing/test-api.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../src/lib/json.ts'
import { NODE_NAME, setStage } from './stage.ts'

const SCRIPT = new URL('./show-files.script.ts', import.meta.url).pathname
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const BRANDS = [
  '/var/run/secrets/kubernetes.io/serviceaccount',
  '/var/run/secrets/orch.io/serviceaccount',
]

async function setIdentityStage() {
  const stage = await setStage({ hasUsers: true })
  const { api } = stage
  await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  await api.make(CONFIG_MAPS, { metadata: { name: 'kube-root-ca.crt' }, data: { 'ca.crt': 'PEM' } })
  return stage
}

const container = (pod: JsonObject | undefined): JsonObject =>
  objectAt(arrayAt(pod, 'status', 'containerStatuses')[0])
const isReady = (pod: JsonObject | undefined) => valueAt(container(pod), 'ready') === true
const waiting = (pod: JsonObject | undefined) => objectAt(container(pod), 'state', 'waiting')

/** The program of the Pods where every user reaches it: a checkout may be in a folder that only its owner enters. */
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'np-identity-'))
  await chmod(folder, 0o755)
  await copyFile(process.execPath, join(folder, 'node'))
  await copyFile(SCRIPT, join(folder, 'show-files.ts'))
})
afterAll(() => rm(folder, { recursive: true }))

function serving(spec: JsonObject, own: JsonObject): JsonObject {
  const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 }
  const command = [join(folder, 'node'), join(folder, 'show-files.ts')]
  return {
    nodeName: NODE_NAME,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'none', command, readinessProbe, ...own }],
    ...spec,
  }
}

const configured = () =>
  serving(
    {
      securityContext: { runAsUser: 1234, fsGroup: 4321 },
      volumes: [
        { name: 'settings', configMap: { name: 'settings', defaultMode: 0o640 } },
        { name: 'work', emptyDir: {} },
      ],
    },
    {
      env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } }],
      envFrom: [{ prefix: 'DB_', secretRef: { name: 'db' } }],
      workingDir: '/work-of-this-pod/here',
      volumeMounts: [
        { name: 'settings', mountPath: '/etc/settings-of-this-pod' },
        { name: 'work', mountPath: '/work-of-this-pod/here' },
      ],
    },
  )

test('a Pod reads its token and its configuration, and the machine sees nothing of them', async () => {
  const stage = await setIdentityStage()
  const { api, until } = stage
  await api.make(CONFIG_MAPS, { metadata: { name: 'settings' }, data: { level: 'low' } })
  const data = { password: Buffer.from('geheim').toString('base64') }
  await api.make('/api/v1/namespaces/default/secrets', { metadata: { name: 'db' }, data })
  const endAgent = stage.startAgent()
  await api.make(PODS, { metadata: { name: 'web' }, spec: configured() })
  const pod = await until(`${PODS}/web`, isReady)
  const url = `http://${stringAt(pod, 'status', 'podIP')}:8080`
  const show = (path: string): Promise<JsonObject> => stage.fetch(url + path)

  for (const folder of BRANDS) {
    expect(await show(`${folder}/namespace`)).toMatchObject({ text: 'default', mode: '644' })
    expect(await show(`${folder}/ca.crt`)).toMatchObject({ text: 'PEM' })
    const token = await show(`${folder}/token`)
    expect(token).toMatchObject({
      mode: '640',
      uid: 1234,
      groups: expect.arrayContaining([4321]) as number[],
    })
    const headers = { authorization: `Bearer ${stringAt(token, 'text')}` }
    const review = await fetch(`${api.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
    })
    expect(await review.json()).toMatchObject({
      status: { userInfo: { username: 'system:serviceaccount:default:default' } },
    })
    expect(existsSync(folder)).toBe(false)
  }
  const settings = await show('/etc/settings-of-this-pod/level')
  expect(settings).toMatchObject({ text: 'low', mode: '640' })
  expect(settings['env']).toMatchObject({ PASSWORD: 'geheim', DB_password: 'geheim' })
  expect(await show('/work-of-this-pod/here')).toMatchObject({ mode: '777' })
  expect(await show('/etc/hostname')).not.toHaveProperty('error')
  expect(['/etc/settings-of-this-pod', '/work-of-this-pod'].filter(existsSync)).toEqual([])

  await api.call('PUT', `${CONFIG_MAPS}/settings`, {
    body: { metadata: { name: 'settings' }, data: { level: 'high' } },
  })
  while ((await show('/etc/settings-of-this-pod/level'))['text'] !== 'high') await setTimeout(20)

  const events = await api.call('GET', '/api/v1/namespaces/default/events')
  expect(events.text + JSON.stringify(pod)).not.toContain('geheim')
  const uid = stringAt(pod, 'metadata', 'uid')
  expect(existsSync(join(stage.volumeFolder, 'memory', uid))).toBe(true)
  await api.call('DELETE', `${PODS}/web`)
  await until(`${PODS}/web`, (one) => one === undefined)
  for (const kept of ['memory', 'disk']) {
    expect(await readdir(join(stage.volumeFolder, kept))).toEqual([])
  }
  await endAgent()
  expect(stage.errors).toEqual([])
})

test('a Pod runs with a new token after its node agent was started again', async () => {
  const stage = await setIdentityStage()
  const { api, until } = stage
  const endAgent = stage.startAgent()
  await api.make(PODS, { metadata: { name: 'web' }, spec: serving({}, {}) })
  const pod = await until(`${PODS}/web`, isReady)
  const token = `http://${stringAt(pod, 'status', 'podIP')}:8080${BRANDS[0]}/token`
  const before = stringAt(await stage.fetch(token), 'text')
  await endAgent()
  expect(await readdir(join(stage.volumeFolder, 'memory'))).toEqual([])
  stage.startAgent()
  await until(`${PODS}/web`, (one) => isReady(one) && valueAt(container(one), 'restartCount') === 1)
  const after = stringAt(await stage.fetch(token), 'text')
  expect([after.split('.').length, after === before]).toEqual([3, false])
})

test('what a Pod must not mount, or cannot yet, keeps it from starting, with the reason', async () => {
  const stage = await setIdentityStage()
  const { api, until } = stage
  stage.startAgent()
  const hostPath = [{ name: 'host', hostPath: { path: '/' } }]
  await api.make(PODS, { metadata: { name: 'host' }, spec: serving({ volumes: hostPath }, {}) })
  const refused = await until(`${PODS}/host`, (one) => stringAt(waiting(one), 'message') !== '')
  expect(waiting(refused)).toMatchObject({ reason: 'CreateContainerConfigError' })
  expect(stringAt(waiting(refused), 'message')).toContain('spec.volumes[0].hostPath')

  const uid = stringAt(refused, 'metadata', 'uid')
  expect(existsSync(join(stage.volumeFolder, 'memory', uid))).toBe(false)
  const reasonsOf = async (name: string) => {
    const { body } = await api.call('GET', '/api/v1/namespaces/default/events')
    const own = arrayAt(body, 'items').filter((one) => {
      return stringAt(one, 'involvedObject', 'name') === name
    })
    return own.map((one) => stringAt(one, 'reason'))
  }
  while ((await reasonsOf('host')).length === 0) await setTimeout(20)
  expect(await reasonsOf('host')).toEqual(['FailedMount'])

  const sources = [{ serviceAccountToken: { path: '../token' } }]
  const outside = serving({ volumes: [{ name: 'v', projected: { sources } }] }, {})
  const answer = await api.call('POST', PODS, {
    body: { metadata: { name: 'outside' }, spec: outside },
  })
  expect([answer.status, answer.text.includes('serviceAccountToken.path')]).toEqual([422, true])

  const envFrom = [{ configMapRef: { name: 'later' } }]
  await api.make(PODS, { metadata: { name: 'waits' }, spec: serving({}, { envFrom }) })
  const unready = await until(`${PODS}/waits`, (one) => stringAt(waiting(one), 'message') !== '')
  expect(waiting(unready)).toMatchObject({
    reason: 'CreateContainerConfigError',
    message: 'configmap "later" not found: create it, or mark the reference as optional',
  })
})
