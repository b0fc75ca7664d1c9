import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launcherOf } from '../../../support/programs.ts'
import { exchange, type KubectlRun, type Said, startKubectl } from './kubectl-run.ts'
import { type PodCluster, startPodCluster } from './pod-cluster.ts'

const ORCHCTL = launcherOf('orchctl')
const SCRIPT = new URL('./streams.script.ts', import.meta.url).pathname
const MEGABYTE = 1_000_000
const PODS = '/api/v1/namespaces/shop/pods'

let cluster: PodCluster

beforeAll(async () => {
  cluster = await startPodCluster()
  await cluster.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  await runPod('web')
})

afterAll(() => cluster.close())

/** A Pod whose process greets with its name, and has it among its arguments. */
async function runPod(name: string, labels: Record<string, string> = {}): Promise<string> {
  const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 }
  const env = [{ name: 'GREETING', value: name }]
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', SCRIPT, name]
  const ports = [{ name: 'http', containerPort: 8080 }]
  const main = { name: 'main', image: 'none', command, env, readinessProbe, ports }
  return cluster.runPod('shop', name, { containers: [main] }, labels)
}

const start = (...words: readonly string[]): KubectlRun =>
  startKubectl(cluster, ORCHCTL, ['-n', 'shop', ...words])

async function run(...words: readonly string[]): Promise<Said> {
  const started = start(...words)
  started.child.stdin.end()
  return started.said()
}

const curl = (url: string): Promise<string> => cluster.node.exec(['curl', '-gsS', '-m', '10', url])

describe('logs', () => {
  test('prints lines, the last ones, their times, bytes, and refuses what is not there', async () => {
    const address = String(await podAddress('web'))
    for (const word of ['one', 'two', '%1b[31mred%1b[2J'])
      await curl(`http://${address}:8080/say?${word}`)
    expect((await run('logs', 'web')).stdout).toContain('ready\n')
    expect(await run('logs', 'pod/web', '--tail=3')).toEqual({
      stdout: 'one\ntwo\n\u001b[31mred\u001b[2J\n',
      stderr: '',
      status: 0,
    })
    const { stdout } = await run('logs', 'web', '--tail=2', '--timestamps', '--prefix')
    expect(stdout).toMatch(/^\[pod\/web\/main\] 20\d\d-\d\d-\d\dT[\d:.]+Z two\n\[pod/)
    expect((await run('logs', 'web', '--since-time=2090-01-01T00:00:00Z')).stdout).toBe('')
    expect((await run('logs', 'web', '--since=1h', '--limit-bytes=3')).stdout).toHaveLength(3)
    const previous = await run('logs', 'web', '--previous')
    expect(previous.stderr).toContain('previous terminated container "main" in pod "web" not found')
    expect(previous.status).toBe(1)
    const other = await run('logs', 'web', '-c', 'other')
    expect([other.stderr, other.status]).toEqual([
      expect.stringContaining('pod/web has no container "other"; it has: main'),
      2,
    ])
    expect((await run('logs', 'absent')).stderr).toContain('pods "absent" not found')
  })

  test('to a terminal keeps colours, and nothing else that controls it', async () => {
    const typed = `exec ${ORCHCTL} -n shop logs web --tail=1`
    const shell = startKubectl(cluster, 'script', ['-qefc', typed, '/dev/null'])
    await shell.line(/^.\[31mred\\u001b\[2J\r?$/)
    expect(await shell.ended).toBe(0)
  })

  test('-f goes on until the container ends; an interrupt ends it, too', async () => {
    const address = await runPod('follow', { app: 'follow' })
    const following = start('logs', '-f', '-l', 'app=follow')
    await following.line(/^ready$/)
    await curl(`http://${address}:8080/say?later`)
    await following.line(/^later$/)
    const interrupted = start('logs', '-f', 'follow')
    await interrupted.line(/^later$/)
    interrupted.child.kill('SIGINT')
    expect(await interrupted.ended).toBe(130)
    expect(await run('delete', 'pod', 'follow', '--wait=false')).toMatchObject({
      stderr: '',
      status: 0,
    })
    expect(await following.ended).toBe(0)
  })
})

describe('exec', () => {
  test('passes input with its end, both outputs apart, and the exit code', async () => {
    const big = 'x'.repeat(MEGABYTE)
    const counting = start('exec', '-i', 'web', '--', 'wc', '-c')
    counting.child.stdin.end(big)
    expect(await counting.said()).toMatchObject({ stdout: `${MEGABYTE}\n`, status: 0 })
    const copying = start('exec', '-i', 'web', '--', 'cat')
    copying.child.stdin.end(big)
    expect((await copying.said()).stdout.length).toBe(MEGABYTE)
    const script = 'echo $GREETING; echo problem >&2; exit 7'
    expect(await run('exec', 'web', '--', 'sh', '-c', script)).toEqual({
      stdout: 'web\n',
      stderr: 'problem\n',
      status: 7,
    })
    const absent = await run('exec', 'web', '--', 'no-such-program')
    expect(absent.stderr).toContain('there is no program "no-such-program"')
    expect(absent.status).toBe(1)
    expect((await run('exec', 'web')).status).toBe(2)
  })

  test('ends when the command does, though input is still open', async () => {
    const started = start('exec', '-i', 'web', '--', 'true')
    expect(await started.ended).toBe(0)
  })

  test('-t gives a terminal of the size of the user’s, and leaves his as it was', async () => {
    // The size is sent after the terminal was made, so a command may see it a moment later.
    const sized = `i=0; while test "$(stty size)" != "40 99" -a $i -lt 500; do sleep 0.1; i=$((i+1)); done`
    const inner = `${sized}; stty size; tty; read x; echo got $x; exit 4`
    const typed = `stty rows 40 cols 99; before=$(stty -g); ${ORCHCTL} -n shop exec -it web -- sh -c '${inner}'; code=$?; test "$before" = "$(stty -g)" && echo the same; exit $code`
    const shell = startKubectl(cluster, 'script', ['-qefc', typed, '/dev/null'])
    await shell.line(/^40 99\r?$/)
    await shell.line(/^\/dev\/pts\/\d+\r?$/)
    shell.child.stdin.write('words\n')
    await shell.line(/^got words\r?$/)
    await shell.line(/^the same\r?$/)
    expect(await shell.ended).toBe(4)
  })

  test('a command ends with an interrupt of its client', async () => {
    const marker = '1777777'
    const sleeping = start('exec', 'web', '--', 'sh', '-c', `echo begun; sleep ${marker}`)
    await sleeping.line(/^begun$/)
    sleeping.child.kill('SIGINT')
    expect(await sleeping.ended).toBe(130)
    await expect
      .poll(() => cluster.node.exec(['pgrep', '-fx', `sleep ${marker}`]).catch(() => 'none'), {
        timeout: 90_000,
      })
      .toBe('none')
  })
})

describe('port-forward', () => {
  test('carries 20 connections at once, 1 MB each way', async () => {
    const forwarding = start('port-forward', 'web', ':8080', ':http')
    const [, port] = await forwarding.line(/^Forwarding from 127\.0\.0\.1:(\d+) -> 8080$/)
    await forwarding.line(new RegExp(`^Forwarding from \\[::1\\]:${port} -> 8080$`))
    const [, second] = await forwarding.line(/^Forwarding from 127\.0\.0\.1:(\d+) -> 8080$/)
    const bodies = Array.from({ length: 20 }, () => randomBytes(MEGABYTE))
    const echoes = bodies.map(async (body) =>
      (await exchange(cluster, `http://127.0.0.1:${port}/`, body)).equals(body),
    )
    expect(new Set(await Promise.all(echoes))).toEqual(new Set([true]))
    expect(await curl(`http://localhost:${second}/greeting`)).toBe('web')
    forwarding.child.kill('SIGINT')
    expect(await forwarding.ended).toBe(130)
  })

  test('reports a port at which nothing listens, and one that is taken', async () => {
    const forwarding = start('port-forward', 'web', ':9999', '-o', 'json')
    const [line] = await forwarding.line(/^.*127\.0\.0\.1.*$/)
    const listening = JSON.parse(line) as { port: number }
    expect(listening).toEqual({ address: '127.0.0.1', port: listening.port, remotePort: 9_999 })
    const url = `http://127.0.0.1:${listening.port}/`
    expect(await exchange(cluster, url, Buffer.from('x'))).toHaveLength(0)
    await expect
      .poll(() => forwarding.errors())
      .toContain('no connection to port 9999 of the pod: connect ECONNREFUSED')
    const taken = await run('port-forward', 'web', `${listening.port}:8080`)
    expect(taken.stderr).toContain(`cannot listen on 127.0.0.1:${listening.port}: EADDRINUSE`)
    expect(taken.status).toBe(1)
    forwarding.child.kill('SIGTERM')
    expect(await forwarding.ended).toBe(143)
    expect((await run('port-forward', 'web', ':metrics')).stderr).toContain('it has: http=8080')
  })

  test('ends when its only Pod is deleted in the middle', async () => {
    await runPod('killed')
    const forwarding = start('port-forward', 'killed', ':8082')
    const [, port] = await forwarding.line(/127\.0\.0\.1:(\d+) -> 8082$/)
    const reading = cluster.node.exec([
      'curl',
      '-sS',
      '-m',
      '50',
      '-o',
      '/dev/null',
      `telnet://127.0.0.1:${port}`,
    ])
    const over = reading.catch(() => 'broken off').then(() => 'over')
    expect(await run('delete', 'pod', 'killed', '--wait=false', '--grace-period=1')).toMatchObject({
      stderr: '',
      status: 0,
    })
    expect(await over).toBe('over')
    expect(await forwarding.ended).toBe(1)
    expect(forwarding.errors()).toContain('the connection to pod/killed is lost')
  })

  test('goes on to another Pod of the Service when one dies, and when its process does', async () => {
    const app = { app: 'shop' }
    await cluster.make('/api/v1/namespaces/shop/services', {
      metadata: { name: 'shop' },
      spec: { selector: app, ports: [{ name: 'web', port: 80, targetPort: 'http' }] },
    })
    await runPod('shop-a', app)
    await runPod('shop-b', app)
    const forwarding = start('port-forward', 'service/shop', ':web')
    const [, port] = await forwarding.line(/127\.0\.0\.1:(\d+) -> 8080$/)
    const greeting = () => curl(`http://127.0.0.1:${port}/greeting`).catch(() => 'no answer')
    expect(await greeting()).toBe('shop-a')
    expect(await run('delete', 'pod', 'shop-a', '--now')).toMatchObject({ stderr: '', status: 0 })
    await expect.poll(greeting).toBe('shop-b')
    await runPod('shop-c', app)
    await cluster.node.exec(['pkill', '-KILL', '-f', 'streams.script.ts shop-b'])
    await expect.poll(greeting).toBe('shop-c')
    expect(forwarding.errors()).toContain('new connections go to pod/shop-b')
    forwarding.child.kill('SIGINT')
    expect(await forwarding.ended).toBe(130)
  })

  test('a user without the right is refused', async () => {
    for (const words of [
      ['exec', 'web', '--', 'true'],
      ['port-forward', 'web', ':8080'],
    ]) {
      const refused = await run('--as=mallory', '--as-group=guests', ...words)
      expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('Forbidden')])
    }
  })
})

async function podAddress(name: string): Promise<unknown> {
  const pod = await cluster.api.get(`${PODS}/${name}`)
  if (!pod.ok) throw new Error(JSON.stringify(pod.failure))
  return (pod.value as { status: { podIP: string } }).status.podIP
}
