import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startApi, type TestApi } from './test-api.ts'

const KUBECTL = '/usr/bin/kubectl'

/** It, and of the versions that are installed beside it the oldest and the newest. */
const PROGRAMS = existsSync(KUBECTL) ? [KUBECTL, ...versionsBeside(KUBECTL)] : []

const MANIFEST = `
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: web}
subsets: [{addresses: [{ip: 10.1.0.1}], ports: [{name: http, port: 8080}]}]
`

/** A cold `get svc` may ask for `/api`, `/apis` and the Services. */
const MOST_REQUESTS = 3

interface Client {
  (...args: readonly string[]): Promise<string>
  /** Standard error, of a command that may fail. */
  errors(...args: readonly string[]): Promise<string>
  readonly home: string
  start(...args: readonly string[]): ChildProcess
}

function clientOf(api: TestApi, program: string = KUBECTL): Client {
  const home = mkdtempSync(join(tmpdir(), 'kubectl-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const options = { env: { HOME: home, PATH: process.env['PATH'] ?? '' }, timeout: 25_000 }
  const full = (args: readonly string[]): string[] => [`--server=${api.url}`, ...args]
  const run = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(program, full(args), options)).stdout
  const errors = (...args: readonly string[]): Promise<string> =>
    new Promise((resolve) => {
      execFile(program, full(args), options, (_failure, _output, text) => resolve(text))
    })
  const start = (...args: readonly string[]): ChildProcess => {
    const child = spawn(program, full(args), { ...options, stdio: ['ignore', 'pipe', 'ignore'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  return Object.assign(run, { home, start, errors })
}

function versionsBeside(program: string): readonly string[] {
  const versions = globSync(join(dirname(realpathSync(program)), 'kubectl.1.*')).sort()
  return versions.length <= 1 ? versions : [versions[0]!, versions.at(-1)!]
}

const isInstalled = PROGRAMS.length > 0

if (!isInstalled) process.stdout.write(`${KUBECTL} is not installed: its tests are left out\n`)

describe.runIf(isInstalled)('kubectl', () => {
  test('create, get, apply, label, patch, describe and delete work', async () => {
    const kubectl = clientOf(await startApi())
    const file = join(kubectl.home, 'web.yaml')
    writeFileSync(file, MANIFEST)
    expect(await kubectl('create', '-f', file)).toContain('service/web created')
    expect(await kubectl('get', 'svc,endpoints', '-A')).toMatch(
      /default +endpoints\/web +10\.1\.0\.1:8080/,
    )
    await kubectl('apply', '-f', file)
    writeFileSync(file, MANIFEST.replace('port: 80,', 'port: 81,'))
    expect(await kubectl('apply', '-f', file)).toContain('service/web configured')
    expect(await kubectl('get', 'svc', 'web', '-o', 'jsonpath={.spec.ports[*].port}')).toBe('81')
    await kubectl('label', 'svc', 'web', 'tier=front')
    expect(await kubectl('get', 'svc', '-l', 'tier in (front)', '-o', 'name')).toBe('service/web\n')
    await kubectl('patch', 'svc', 'web', '-p', '{"spec":{"ports":[{"port":81,"targetPort":9}]}}')
    await kubectl(
      'patch',
      'svc',
      'web',
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/metadata/labels/tier"}]',
    )
    expect(await kubectl('describe', 'svc', 'web')).toMatch(/TargetPort: +9\/TCP/)
    expect(await kubectl('delete', 'svc', 'web')).toContain('"web" deleted')
    await expect(kubectl('get', 'svc', 'web')).rejects.toThrow('services "web" not found')
  }, 60_000)

  test('get -w prints what happens', async () => {
    const api = await startApi()
    const kubectl = clientOf(api)
    const watching = kubectl.start('get', 'svc', '-w', '--no-headers')
    const lines = createInterface({ input: watching.stdout! })[Symbol.asyncIterator]()
    const first = lines.next()
    await kubectl('create', 'service', 'externalname', 'far', '--external-name=example.com')
    expect((await first).value).toMatch(/^far +ExternalName +<none> +example\.com/)
    watching.kill('SIGTERM')
  }, 60_000)
})

describe.each(PROGRAMS)('%s', (program) => {
  test('a cold get asks little', async () => {
    const kubectl = clientOf(await startApi(), program)
    const log = await kubectl.errors('get', 'svc', '-v=6')
    const requests = log.split('\n').filter((line) => /\bGET\b.*http:|verb="GET"/.test(line))
    expect(requests.length).toBeGreaterThan(0)
    expect(requests.length).toBeLessThanOrEqual(MOST_REQUESTS)
  }, 60_000)

  test('manifests are validated, merged and tried out, and fields explained', async () => {
    const kubectl = clientOf(await startApi(), program)
    const file = join(kubectl.home, `${basename(program)}.yaml`)
    writeFileSync(file, MANIFEST)
    expect(await kubectl('apply', '--dry-run=server', '-f', file)).toContain(
      'service/web created (server dry run)',
    )
    await kubectl('apply', '-f', file)
    writeFileSync(file, MANIFEST.replace('port: 80,', 'port: 81,'))
    await kubectl('apply', '-f', file)
    expect(await kubectl('get', 'svc', 'web', '-o', 'jsonpath={.spec.ports[*].port}')).toBe('81')
    expect(await kubectl('explain', 'svc.spec.ports.nodePort')).toMatch(
      /nodePort <integer>\s+DESCRIPTION:\s+The port that is open on every node/,
    )
    expect(await kubectl('explain', 'service', '--recursive')).toMatch(/timeoutSeconds\s*<integer>/)
    expect(
      await kubectl('explain', 'role.rules', '--api-version=rbac.authorization.orch.io/v1'),
    ).toContain('nonResourceURLs')
  }, 60_000)
})
