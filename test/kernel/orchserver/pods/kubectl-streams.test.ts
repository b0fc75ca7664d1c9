import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installedKubectls } from '../../../support/kubectl/installed.ts'
import { exchange, type Said, startKubectl } from './kubectl-run.ts'
import { type PodCluster, startPodCluster } from './pod-cluster.ts'

const SCRIPT = new URL('./streams.script.ts', import.meta.url).pathname
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop'
const MEGABYTE = 1_000_000

let cluster: PodCluster

beforeAll(async () => {
  cluster = await startPodCluster()
  await cluster.make('/api/v1/namespaces', { metadata: { name: 'shop' } })
  await runPod('web')
})

afterAll(() => cluster.close())

function runPod(name: string): Promise<string> {
  const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 }
  const env = [{ name: 'GREETING', value: 'hello' }]
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', SCRIPT]
  const main = { name: 'main', image: 'none', command, env, readinessProbe }
  return cluster.runPod('shop', name, { containers: [main] })
}

describe.each(installedKubectls())('kubectl $version', ({ path, minor }) => {
  const start = (...words: readonly string[]) =>
    startKubectl(cluster, path, ['-n', 'shop', ...words])
  const run = (...words: readonly string[]): Promise<Said> => {
    const started = start(...words)
    started.child.stdin.end()
    return started.said()
  }

  test('logs: lines, the last ones, their times, bytes, a run that never was', async () => {
    const address = `http://${String(await podAddress('web'))}:8080/say?`
    for (const word of ['one', 'two']) await cluster.node.exec(['curl', '-sS', `${address}${word}`])
    expect((await run('logs', 'web')).stdout).toContain('ready\n')
    expect((await run('logs', 'web')).stdout).toContain('a warning\n')
    expect(await run('logs', 'web', '--tail=2')).toEqual({
      stdout: 'one\ntwo\n',
      stderr: '',
      status: 0,
    })
    const { stdout } = await run('logs', 'web', '--tail=1', '--timestamps')
    expect(stdout).toMatch(/^20\d\d-\d\d-\d\dT[\d:.]+Z two\n$/)
    expect((await run('logs', 'web', '--tail=1', '--limit-bytes=2')).stdout).toBe('tw')
    expect((await run('logs', 'web', '--since-time=2090-01-01T00:00:00Z')).stdout).toBe('')
    const previous = await run('logs', 'web', '--previous')
    expect(previous.stderr).toContain('previous terminated container "main" in pod "web" not found')
    expect((await run('logs', 'web', '-c', 'other')).stderr).toContain(
      'container other is not valid',
    )
  })

  test('logs -f goes on until the container ends', async () => {
    const name = `follow-${minor}`
    const address = await runPod(name)
    const following = start('logs', '-f', name)
    await following.line(/^ready$/)
    await cluster.node.exec(['curl', '-sS', `http://${address}:8080/say?later`])
    await following.line(/^later$/)
    await run('delete', 'pod', name, '--wait=false')
    await expect(following.line(/^never$/)).rejects.toThrow('kubectl ended')
    expect(await following.ended).toBe(0)
  })

  test('exec: input with its end, both outputs, the exit code, environment and network', async () => {
    const big = 'x'.repeat(MEGABYTE)
    const counting = start('exec', '-i', 'web', '--', 'wc', '-c')
    counting.child.stdin.end(big)
    expect(await counting.said()).toMatchObject({ stdout: `${MEGABYTE}\n`, status: 0 })
    const copying = start('exec', '-i', 'web', '--', 'cat')
    copying.child.stdin.end(big)
    expect((await copying.said()).stdout.length).toBe(MEGABYTE)
    const script = 'echo $GREETING; echo problem >&2; exit 7'
    const failed = await run('exec', 'web', '--', 'sh', '-c', script)
    expect([failed.stdout, failed.status]).toEqual(['hello\n', 7])
    expect(failed.stderr).toMatch(/^problem\n.*exit code 7\n$/)
    const { stdout } = await run('exec', 'web', '--', 'cat', '/proc/net/fib_trie')
    expect(stdout).toContain(String(await podAddress('web')))
    const absent = await run('exec', 'web', '--', 'no-such-program')
    expect(absent.stderr).toContain(
      'there is no program \\"no-such-program\\"'.replaceAll('\\', ''),
    )
    expect(absent.status).not.toBe(0)
  })

  test('exec -t has a terminal of the size of the user’s', async () => {
    // kubectl sends the size beside the start of the command, which may be the first of the two.
    const sized = 'until [ "$(stty size)" = "40 99" ]; do sleep 0.05; done; stty size'
    const typed = `stty rows 40 cols 99; exec ${path} -n shop exec -it web -- sh -c '${sized}; tty; read x; echo got $x; exit 4'`
    const shell = startKubectl(cluster, 'script', ['-qefc', typed, '/dev/null'])
    await shell.line(/^40 99\r?$/)
    await shell.line(/^\/dev\/pts\/\d+\r?$/)
    shell.child.stdin.write('words\n')
    await shell.line(/^got words\r?$/)
    expect(await shell.ended).toBe(4)
  })

  test('a command ends with its client', async () => {
    const marker = `${1_000_000 + minor}`
    const sleeping = start('exec', 'web', '--', 'sh', '-c', `echo begun; sleep ${marker}`)
    await sleeping.line(/^begun$/)
    sleeping.child.kill('SIGKILL')
    await cluster.node.exec(['pkill', '-KILL', '-f', `kubectl.*${marker}`]).catch(() => undefined)
    await expect
      .poll(() => cluster.node.exec(['pgrep', '-fx', `sleep ${marker}`]).catch(() => 'none'), {
        timeout: 90_000,
      })
      .toBe('none')
  })

  test('port-forward: 20 connections at once, 1 MB each way; both loopback addresses', async () => {
    const forwarding = start('port-forward', 'web', ':8080')
    const [, port] = await forwarding.line(/^Forwarding from 127\.0\.0\.1:(\d+) -> 8080$/)
    const bodies = Array.from({ length: 20 }, () => randomBytes(MEGABYTE))
    const echoes = bodies.map(async (body) =>
      (await exchange(cluster, `http://127.0.0.1:${port}/`, body)).equals(body),
    )
    expect(new Set(await Promise.all(echoes))).toEqual(new Set([true]))
    forwarding.child.kill('SIGTERM')
    const other = start('port-forward', 'web', ':8081')
    const [, second] = await other.line(/127\.0\.0\.1:(\d+) -> 8081$/)
    const echo = ['sh', '-c', `echo through | timeout 20 nc -q1 127.0.0.1 ${second} | head -1`]
    const python = [
      'python3',
      '-c',
      `import socket; s=socket.create_connection(("127.0.0.1",${second})); s.sendall(b"through"); s.shutdown(1); print(s.makefile().read())`,
    ]
    const said = await cluster.node.exec(echo).catch(() => '')
    expect(said === '' ? await cluster.node.exec(python) : said).toContain('through')
    other.child.kill('SIGTERM')
  })

  test('port-forward to a port where nothing listens says so', async () => {
    const forwarding = start('port-forward', 'web', ':9999')
    const [, port] = await forwarding.line(/127\.0\.0\.1:(\d+) -> 9999$/)
    expect(await exchange(cluster, `http://127.0.0.1:${port}/`, Buffer.from('x'))).toHaveLength(0)
    await expect
      .poll(() => forwarding.errors())
      .toContain('no connection to port 9999 of the pod: connect ECONNREFUSED')
    forwarding.child.kill('SIGTERM')
  })

  test('a Pod that is killed in the middle ends its connections, and the forwarding', async () => {
    const name = `killed-${minor}`
    await runPod(name)
    const forwarding = start('port-forward', name, ':8082')
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
    await run('delete', 'pod', name, '--wait=false', '--grace-period=1')
    expect(await over).toBe('over')
    await forwarding.ended
    expect(forwarding.errors()).toContain('lost connection to pod')
  })

  test('users get what their roles permit', async () => {
    const role = `reader-${minor}`
    const user = `alice-${minor}`
    const bound = (rules: readonly object[]) =>
      cluster.make(`${RBAC}/roles`, { metadata: { name: role }, rules: rules as never[] })
    await bound([{ apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get'] }])
    await cluster.make(`${RBAC}/rolebindings`, {
      metadata: { name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    })
    const as = ['--as', user]
    expect((await run('logs', 'web', '--tail=1', ...as)).status).toBe(0)
    for (const words of [
      ['exec', 'web', '--', 'true'],
      ['port-forward', 'web', ':8080'],
    ]) {
      const refused = await run(...words.slice(0, 2), ...as, ...words.slice(2))
      expect(refused.status).toBe(1)
      expect(refused.stderr).toMatch(/cannot create resource "pods\/(exec|portforward)"/)
    }
  })
})

async function podAddress(name: string): Promise<unknown> {
  const pod = await cluster.api.get(`/api/v1/namespaces/shop/pods/${name}`)
  if (!pod.ok) throw new Error(JSON.stringify(pod.failure))
  return (pod.value as { status: { podIP: string } }).status.podIP
}
