import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { PODS, SERVICES, service } from '../../../src/apiserver/testing/test-api.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../src/lib/json.ts'
import { runCommand } from '../../../src/nodeagent/system/run-command.ts'
import { NODE_NAME, setStage } from './stage.ts'

const SCRIPT = new URL('./pod.script.ts', import.meta.url).pathname

const POD = {
  nodeName: NODE_NAME,
  terminationGracePeriodSeconds: 120,
  containers: [
    {
      name: 'web',
      image: 'none',
      command: [process.execPath, SCRIPT],
      args: ['$(GREETING); exit 7', '$$(GREETING)'],
      workingDir: '/tmp',
      env: [
        { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'GREETING', value: 'from $(POD_IP)' },
      ],
      ports: [{ name: 'http', containerPort: 8080 }],
      readinessProbe: {
        httpGet: { path: '/ready', port: 'http' },
        periodSeconds: 1,
        failureThreshold: 1,
      },
    },
  ],
}

const LISTENING = 'stdout F listening\n'

function condition(pod: JsonObject | undefined, type: string): string {
  const all = arrayAt(pod, 'status', 'conditions')
  return stringAt(
    all.find((one) => stringAt(one, 'type') === type),
    'status',
  )
}

const isReady = (pod: JsonObject | undefined): boolean => condition(pod, 'Ready') === 'True'

function container(pod: JsonObject | undefined): JsonObject {
  return objectAt(arrayAt(pod, 'status', 'containerStatuses')[0])
}

const restarts = (pod: JsonObject | undefined) => valueAt(container(pod), 'restartCount')
const isRunning = (pod: JsonObject | undefined) =>
  valueAt(container(pod), 'state', 'running') !== undefined
const exitCode = (pod: JsonObject | undefined) =>
  valueAt(container(pod), 'state', 'terminated', 'exitCode')
const hasPhase = (phase: string) => (pod: JsonObject | undefined) =>
  stringAt(pod, 'status', 'phase') === phase

test('a Pod runs, loses readiness, is restarted, drains and goes', async () => {
  const stage = await setStage()
  const { api, until } = stage
  const endAgent = stage.startAgent()
  await until(`/api/v1/nodes/${NODE_NAME}`, isReady)
  await api.make(SERVICES, service('shop'))
  await api.make(PODS, { metadata: { name: 'web' }, spec: POD })
  const pod = await until(`${PODS}/web`, isReady)
  expect(objectAt(pod, 'status')).toMatchObject({
    phase: 'Running',
    hostIP: '192.0.2.10',
    podIP: '10.77.0.2',
    podIPs: [{ ip: '10.77.0.2' }, { ip: 'fd77::2' }],
    containerStatuses: [{ ready: true, started: true, restartCount: 0 }],
  })
  const url = 'http://10.77.0.2:8080'
  const answer = await stage.fetch(url)
  expect(answer).toMatchObject({
    env: { POD_IP: '10.77.0.2', GREETING: 'from 10.77.0.2', SHOP_SERVICE_PORT: '80' },
    cwd: '/tmp',
    args: ['from 10.77.0.2; exit 7', '$(GREETING)'],
  })
  expect(await stage.fetch('http://[fd77::2]:8080')).toMatchObject({ pid: answer['pid'] })

  await stage.fetch(`${url}/ready?no`, 'POST')
  await until(`${PODS}/web`, (one) => !isReady(one))
  await stage.fetch(`${url}/ready?yes`, 'POST')
  await until(`${PODS}/web`, isReady)

  process.kill(Number(answer['pid']), 'SIGKILL')
  const again = await until(`${PODS}/web`, (one) => restarts(one) === 1 && isReady(one))
  expect(container(again)).toMatchObject({
    lastState: { terminated: { exitCode: 137, signal: 9, reason: 'Error' } },
  })

  const uid = stringAt(pod, 'metadata', 'uid')
  const log = await readFile(join(stage.logFolder, `default_web_${uid}`, 'web.log'), 'utf8')
  const before = await readFile(
    join(stage.logFolder, `default_web_${uid}`, 'web.log.previous'),
    'utf8',
  )
  expect([before, log].map((text) => text.replace(/^\S+Z /, ''))).toEqual([LISTENING, LISTENING])

  const ended = until(`${PODS}/web`, (one) => exitCode(one) === 0)
  await api.call('DELETE', `${PODS}/web`)
  await until(`${PODS}/web`, (one) => !isReady(one) && isRunning(one))
  await stage.fetch(`${url}/leave`, 'POST')
  await ended
  await until(`${PODS}/web`, (one) => one === undefined)
  expect(await readdir(stage.logFolder)).toEqual([])
  expect(await stage.namespaces()).toEqual([])
  await endAgent()
  const node = await api.call('GET', `/api/v1/nodes/${NODE_NAME}`)
  expect(condition(node.body, 'Ready')).toBe('False')
  expect(stage.errors).toEqual([])
})

test('removes what others left, and goes on where it ended', async () => {
  const stage = await setStage()
  const { api, until, node, prefix } = stage
  const [old, marker] = [`${prefix}-default-old`, '7777777']
  await runCommand(['ip', 'netns', 'add', old])
  await runCommand(['ip', '-n', node, 'link', 'add', 'cbr0', 'type', 'bridge'])
  const left = spawn('ip', ['netns', 'exec', old, 'sleep', marker], { stdio: 'ignore' })
  const leftEnded = once(left, 'exit')
  const endAgent = stage.startAgent()
  await leftEnded
  await until(`/api/v1/nodes/${NODE_NAME}`, isReady)
  expect(await stage.namespaces()).toEqual([])

  const [own] = POD.containers
  const exec = { command: ['sh', '-c', LISTENS] }
  const probes = { readinessProbe: { exec, periodSeconds: 1 }, livenessProbe: TCP }
  const spec = { ...POD, terminationGracePeriodSeconds: 1, containers: [{ ...own, ...probes }] }
  await api.make(PODS, { metadata: { name: 'web' }, spec })
  const { status } = await until(`${PODS}/web`, isReady)
  const url = `http://${stringAt(status, 'podIP')}:8080`
  const script = `fetch('${url}').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(2))`
  await api.make(PODS, oneRun('job', [process.execPath, '-e', script]))
  await api.make(PODS, oneRun('host', ['ip', 'link', 'show', 'cbr0'], { hostNetwork: true }))
  await until(`${PODS}/job`, hasPhase('Succeeded'))
  expect(await until(`${PODS}/host`, hasPhase('Succeeded'))).toMatchObject({
    status: { podIP: '192.0.2.10' },
  })

  await endAgent()
  expect(await stage.namespaces()).toEqual([])
  const { body } = await api.call('GET', `${PODS}/web`)
  expect([condition(body, 'Ready'), isRunning(body)]).toEqual(['False', false])

  stage.startAgent()
  const again = await until(`${PODS}/web`, (one) => isReady(one) && restarts(one) === 1)
  expect(stringAt(again, 'status', 'podIP')).toBe(stringAt(status, 'podIP'))
  expect(await stage.fetch(url)).toMatchObject({ cwd: '/tmp' })
  expect(await stage.namespaces()).toEqual([`${prefix}-default-web`])
  await api.call('DELETE', `${PODS}/web`, { body: { gracePeriodSeconds: 0 } })
  while ((await stage.namespaces()).length > 0) await setTimeout(10)
  expect(stage.errors).toEqual([])
})

/** Holds only in the Pod's namespace, with its environment, once port 8080 is served. */
const LISTENS =
  'ip -o addr show dev eth0 | grep -q "inet $POD_IP/" && grep -q ":1F90 " /proc/net/tcp6'
const TCP = { tcpSocket: { port: 8080 }, periodSeconds: 1 }

function oneRun(name: string, command: readonly string[], spec: JsonObject = {}): JsonObject {
  const containers = [{ name: 'main', image: 'none', command: [...command] }]
  return {
    metadata: { name },
    spec: { nodeName: NODE_NAME, restartPolicy: 'Never', containers, ...spec },
  }
}
