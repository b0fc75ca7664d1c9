import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type OrchctlShell, openOrchctlShell } from '../support/orchctl/orchctl-shell.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

let server: OrchServerProcess
let shell: OrchctlShell

beforeAll(async () => {
  server = await startOrchServer()
  shell = await openOrchctlShell(server.kubeconfig)
})

afterAll(async () => {
  await shell?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

/** A namespace for one test. */
async function inNew(namespace: string): Promise<readonly string[]> {
  await shell.ok(['create', 'namespace', namespace])
  return ['-n', namespace]
}

const WEB = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports:
  - port: 80
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: fast}
`

describe('files', () => {
  test('apply creates, leaves, changes; create refuses; delete removes', async () => {
    const n = await inNew('files')
    await shell.write('web.yaml', WEB)
    const apply = ['apply', '-f', 'web.yaml', ...n]
    expect(await shell.ok(apply)).toBe('service/web created\nconfigmap/settings created\n')
    expect(await shell.ok(apply)).toBe('service/web unchanged\nconfigmap/settings unchanged\n')
    const changed = { input: WEB.replace('fast', 'slow') }
    expect(await shell.ok(['apply', '-f', '-', ...n, '--dry-run=server'], changed)).toBe(
      'service/web unchanged (server dry run)\nconfigmap/settings configured (server dry run)\n',
    )
    expect(await shell.ok(['apply', '-f', '-', ...n], changed)).toContain('settings configured')
    const mode = ['get', 'cm/settings', '-o', 'jsonpath={.data.mode}', ...n]
    expect(await shell.ok(mode)).toBe('slow')
    const again = await shell.run(['create', '-f', 'web.yaml', ...n])
    expect(again).toMatchObject({ code: 1, stdout: '' })
    expect(again.stderr).toMatch(/^orchctl: web.yaml:1:1: AlreadyExists: .*\n.*web.yaml:10:1: /)
    expect(await shell.ok(['delete', '-f', 'web.yaml', ...n])).toBe(
      'service "web" deleted\nconfigmap "settings" deleted\n',
    )
    expect(await shell.run(mode)).toMatchObject({ code: 1, stdout: '' })
  })

  test('a refused field is named with file, line and column; the other objects are applied', async () => {
    const n = await inNew('refused')
    await shell.write('bad.yaml', WEB.replace('port: 80', 'port: 99999'))
    const ran = await shell.run(['apply', '-f', 'bad.yaml', ...n])
    expect(ran).toMatchObject({ code: 1, stdout: 'configmap/settings created\n' })
    expect(ran.stderr).toMatch(/^orchctl: bad.yaml:8:5: spec.ports\[0\].port: Invalid value: 99999/)
    await shell.write('typo.yaml', WEB.replace('selector:', 'selektor:'))
    const typo = await shell.run(['apply', '-f', 'typo.yaml', ...n])
    expect(typo.stderr).toMatch(/^orchctl: typo.yaml:6:3: spec.selektor: /)
  })

  test('a URL and a missing file are refused', async () => {
    expect(await shell.run(['apply', '-f', 'https://example.com/x.yaml'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a URL, which is never fetched'),
    })
    expect(await shell.run(['apply', '-f', 'none.yaml'])).toMatchObject({ code: 1 })
  })

  test('a conflict changes nothing until it is forced', async () => {
    const n = await inNew('conflict')
    await shell.ok(['apply', '-f', '-', ...n], { input: WEB })
    await shell.ok(['label', 'svc', 'web', 'a=other', ...n, '--field-manager=someone'])
    const input = WEB.replace('name: web', 'name: web\n  labels: {a: mine}')
    const refused = await shell.run(['apply', '-f', '-', ...n], { input })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/Conflict: .*"someone".*--force-conflicts/)
    await shell.ok(['apply', '-f', '-', ...n, '--force-conflicts'], { input })
    expect(await shell.ok(['get', 'svc', '-L', 'a', '--no-headers', ...n])).toMatch(/mine\n$/)
  })
})

describe('reading', () => {
  test.each([
    [['get', 'svc', '-o', 'json']],
    [['get', 'svc/kubernetes', '-o', 'json']],
    [['get', 'cm,svc', '-A', '-o', 'json']],
    [['get', 'svc,sa', '-o', 'name']],
    [['get', 'svc', '-o', 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}']],
    [['get', 'svc', '-o', 'custom-columns=N:.metadata.name,P:.spec.ports[*].port']],
    [['auth', 'can-i', 'list', 'pods']],
    [['auth', 'whoami']],
  ])('%j prints what kubectl prints', async (args) => {
    expect(await shell.ok(args)).toBe(await shell.program('kubectl', args))
  })

  test('YAML has the value that kubectl prints', async () => {
    const args = ['get', 'svc,cm', '-A', '-o', 'yaml']
    expect(parse(await shell.ok(args))).toEqual(parse(await shell.program('kubectl', args)))
  })

  test('a table, of several resources, without what does not exist', async () => {
    expect(await shell.ok(['get', 'svc,sa'])).toMatch(
      /^NAME +TYPE .*\nservice\/kubernetes +ClusterIP[^]*\n\nNAME +SECRETS +AGE\nserviceaccount\/default /,
    )
    const some = await shell.run(['get', 'svc', 'kubernetes', 'nope'])
    expect(some).toMatchObject({ code: 1, stdout: expect.stringMatching(/\nkubernetes /) })
    expect(some.stderr).toContain('services "nope" not found')
    expect(await shell.run(['get', 'svc', 'nope', '--ignore-not-found'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  test('chunks, selectors and order', async () => {
    const n = await inNew('chunks')
    for (const name of ['c', 'a', 'b']) {
      await shell.ok(['create', 'configmap', name, `--from-literal=k=${name}`, ...n])
    }
    await shell.ok(['label', 'cm', 'a', 'b', 'app=x', ...n])
    const names = (...args: readonly string[]) =>
      shell.ok(['get', 'cm', '-o', 'name', ...n, ...args])
    expect(await names('--chunk-size=1', '-l', 'app=x')).toBe('configmap/a\nconfigmap/b\n')
    expect(await names('--field-selector', 'metadata.name=c')).toBe('configmap/c\n')
    const sorted = await shell.ok([
      'get',
      'cm',
      '-l',
      'app',
      '--sort-by=.data.k',
      '--show-labels',
      '--no-headers',
      ...n,
    ])
    expect(sorted).toMatch(/^a .*app=x\nb .*app=x\n$/)
  })

  test('control characters of an object stay text', async () => {
    const n = await inNew('hostile')
    await shell.ok(['create', 'configmap', 'c', ...n])
    await shell.ok(['annotate', 'cm', 'c', 'x=\u001b[2Jboo', ...n])
    const shown = await shell.ok(['describe', 'cm', 'c', ...n])
    expect(shown).toContain('\\u001b[2Jboo')
    const yaml = await shell.ok(['get', 'cm', 'c', '-o', 'yaml', ...n])
    expect(yaml).not.toContain('\u001b')
  })
})

describe('identity', () => {
  test('accounts: create, get, describe, delete', async () => {
    const n = await inNew('accounts')
    expect(await shell.ok(['create', 'serviceaccount', 'robot', ...n])).toBe(
      'serviceaccount/robot created\n',
    )
    expect(await shell.ok(['get', 'sa', 'robot', ...n])).toMatch(/^NAME .*\nrobot /)
    expect(await shell.ok(['describe', 'sa/robot', ...n])).toMatch(
      /^Name: +robot\nNamespace: +accounts/,
    )
    expect(await shell.ok(['delete', 'sa', 'robot', ...n])).toBe('serviceaccount "robot" deleted\n')
    expect((await shell.run(['get', 'sa', 'robot', ...n])).code).toBe(1)
  })

  test('a token has the audience and the life that were requested, and works', async () => {
    const n = await inNew('tokens')
    await shell.ok(['create', 'sa', 'robot', ...n])
    const text = await shell.ok(['create', 'token', 'robot', '--duration=2y', ...n])
    const claims = claimsOf(text)
    expect(claims.exp - claims.iat).toBe(2 * 365 * 86_400)
    expect(claims.sub).toBe('system:serviceaccount:tokens:robot')
    const who = await shell.ok(['auth', 'whoami', '--token', text.trim()])
    expect(who).toMatch(/Username +system:serviceaccount:tokens:robot/)
    const audience = ['--audience=a', '--audience=b', '-o', 'jsonpath={.status.token}']
    const other = await shell.ok(['create', 'token', 'robot', ...audience, ...n])
    expect(claimsOf(other).aud).toEqual(['a', 'b'])
    const theirs = await shell.program('kubectl', ['create', 'token', 'robot', ...n])
    const keys = Object.keys(claimsOf(theirs))
    expect(Object.keys(claimsOf(await shell.ok(['create', 'token', 'robot', ...n])))).toEqual(keys)
  })

  test('permissions: yes and no, by exit code, for others, for a name, as a list', async () => {
    const n = await inNew('rights')
    await shell.ok(['create', 'sa', 'robot', ...n])
    await shell.ok([
      'create',
      'role',
      'reader',
      '--verb=get,list',
      '--resource=pods,pods/log',
      ...n,
    ])
    const bind = ['--role=reader', '--serviceaccount=rights:robot', '--user=ann', '--group=devs']
    await shell.ok(['create', 'rolebinding', 'reader', ...bind, ...n])
    const canI = (...args: readonly string[]) =>
      shell.run(['auth', 'can-i', ...args, '--as=system:serviceaccount:rights:robot', ...n])
    expect(await canI('list', 'pods')).toEqual({ code: 0, stdout: 'yes\n', stderr: '' })
    expect(await canI('get', 'pod/x', '--subresource=log')).toMatchObject({ code: 0 })
    expect(await canI('delete', 'pods')).toMatchObject({ code: 1, stdout: 'no\n' })
    expect(await canI('delete', 'pods', '-q')).toEqual({ code: 1, stdout: '', stderr: '' })
    expect((await canI('--list')).stdout).toMatch(/^pods +\[\] +\[\] +\[get list\]$/m)
    const group = ['auth', 'can-i', 'get', 'pods', '--as=x', '--as-group=devs', ...n]
    expect(await shell.ok(group)).toBe('yes\n')
    const own = await shell.run(['get', 'secrets', '--as=ann', ...n])
    expect(own).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Forbidden: .*can-i --list/),
    })
  })
})

function claimsOf(token: string) {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')
  return JSON.parse(payload) as { exp: number; iat: number; sub: string; aud: readonly string[] }
}

describe('changes', () => {
  test('labels and annotations: set, kept, overwritten, removed', async () => {
    const n = await inNew('labels')
    await shell.ok(['create', 'configmap', 'c', ...n])
    expect(await shell.ok(['label', 'cm/c', 'a=1', 'b=2', ...n])).toBe('configmap/c labeled\n')
    expect(await shell.ok(['label', 'cm/c', 'a=1', ...n])).toBe('configmap/c not labeled\n')
    expect(await shell.run(['label', 'cm/c', 'a=3', ...n])).toMatchObject({ code: 1, stdout: '' })
    await shell.ok(['label', 'cm/c', 'a=3', 'b-', '--overwrite', ...n])
    await shell.ok(['annotate', 'cm/c', 'note=two words', ...n])
    const shown = await shell.ok(['get', 'cm/c', '-o', 'json', ...n])
    expect(JSON.parse(shown)).toMatchObject({
      metadata: { labels: { a: '3' }, annotations: { note: 'two words' } },
    })
    expect(shown).not.toContain('"b"')
  })

  test('scales Deployments, and only those', async () => {
    const n = await inNew('scale')
    await shell.program('kubectl', ['create', 'deployment', 'd', '--image=none', ...n])
    const scale = (...args: readonly string[]) => shell.run(['scale', ...args, ...n])
    expect(await scale('deploy/d', '--replicas=3')).toMatchObject({
      code: 0,
      stdout: 'deployment.apps/d scaled\n',
    })
    expect(await shell.ok(['get', 'deploy', 'd', '-o', 'jsonpath={.spec.replicas}', ...n])).toBe(
      '3',
    )
    expect((await scale('deploy/d', '--replicas=1', '--current-replicas=2')).code).toBe(1)
    expect(await shell.run(['scale', 'svc/kubernetes', '--replicas=1'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('NP_ORCHCTL_NOT_SCALABLE'),
    })
  })

  test('edit saves, opens again after a refusal, and merges with a change of another client', async () => {
    const n = await inNew('edit')
    await shell.ok(['create', 'configmap', 'c', '--from-literal=a=1', ...n])
    const editor = async (name: string, script: string) => {
      await shell.write(name, `#!/bin/sh\n${script}\n`)
      await chmod(join(shell.home, name), 0o755)
      return { env: { EDITOR: join(shell.home, name) } }
    }
    const data = () => shell.ok(['get', 'cm', 'c', '-o', 'jsonpath={.data}', ...n])
    const simple = await editor('simple', `sed -i "s/a: '1'/a: '2'/; s/a: \\"1\\"/a: '2'/" "$1"`)
    expect(await shell.ok(['edit', 'cm', 'c', ...n], simple)).toBe('configmap/c edited\n')
    expect(await data()).toBe('{"a":"2"}')
    const none = await shell.run(['edit', 'cm', 'c', ...n], { env: { EDITOR: 'true' } })
    expect(none).toMatchObject({ code: 0, stderr: 'Edit cancelled, no changes made.\n' })
    const twice = await editor(
      'twice',
      `cp "$1" "$HOME/seen"; if grep -q '^# error' "$1"; then sed -i 's/name: -bad/name: c/; s/a: .2./a: "3"/' "$1"; else sed -i 's/name: c$/name: -bad/' "$1"; fi`,
    )
    expect(await shell.ok(['edit', 'cm', 'c', ...n], twice)).toBe('configmap/c edited\n')
    expect(await readFile(join(shell.home, 'seen'), 'utf8')).toMatch(/^# error: .*name/m)
    expect(await data()).toBe('{"a":"3"}')
    const patch = `kubectl patch cm c --namespace edit --type merge -p '{"data":{"b":"9"}}' > /dev/null`
    const racing = await editor('racing', `${patch}; sed -i 's/a: .3./a: "4"/' "$1"`)
    await shell.ok(['edit', 'cm', 'c', ...n], racing)
    expect(await data()).toBe('{"a":"4","b":"9"}')
  })

  test('objects from flags', async () => {
    const n = await inNew('flags')
    await shell.write('key', 'secret-text')
    const secret = ['create', 'secret', 'generic', 's', '--from-file=key', '--from-literal=a=b=c']
    await shell.ok([...secret, ...n])
    const data = await shell.ok(['get', 'secret', 's', '-o', 'jsonpath={.data}', ...n])
    expect(JSON.parse(data)).toEqual({ a: btoa('b=c'), key: btoa('secret-text') })
    const wrong = await shell.run(['create', 'secret', 'generic', 't', '--from-literal=hush', ...n])
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).not.toContain('hush')
    for (const key of ['.', '..data']) {
      const create = ['create', 'configmap', 't', `--from-literal=${key}=1`, ...n]
      expect(await shell.run(create)).toMatchObject({ code: 2, stdout: '' })
    }
    expect(await shell.ok(['describe', 'secret', 's', ...n])).toMatch(/^ {2}key: +11 bytes$/m)
    await shell.ok(['create', 'service', 'clusterip', 'web', '--tcp=80:8080', ...n])
    await shell.ok(['create', 'service', 'clusterip', 'bare', '--clusterip=None', ...n])
    await shell.ok(['create', 'svc', 'externalname', 'far', '--external-name=example.com', ...n])
    await shell.ok(['create', 'service', 'nodeport', 'np', '--tcp=80', '--node-port=30123', ...n])
    const types = ['get', 'svc', '-o', 'jsonpath={.items[*].spec.type}', ...n]
    expect(await shell.ok(types)).toBe('ClusterIP ExternalName NodePort ClusterIP')
    const described = await shell.ok(['describe', 'svc', 'web', ...n])
    expect(described).toMatch(/^Endpoints:\n/m)
    expect(described).toMatch(/^Events: +<none>$/m)
    expect(described).toMatch(/^Problems:\n {2}.*service\/.*\/web: /m)
    const dry = await shell.ok(['create', 'sa', 'x', '--dry-run=client', '-o', 'json', ...n])
    expect(JSON.parse(dry)).toMatchObject({ kind: 'ServiceAccount' })
    expect((await shell.run(['get', 'sa', 'x', ...n])).code).toBe(1)
  })

  test('delete needs names, a selector or --all, and waits', async () => {
    const n = await inNew('gone')
    for (const name of ['a', 'b', 'c']) await shell.ok(['create', 'configmap', name, ...n])
    expect(await shell.run(['delete', 'cm', ...n])).toMatchObject({ code: 2, stdout: '' })
    await shell.ok(['label', 'cm', 'a', 'b', 'x=y', ...n])
    expect(await shell.ok(['delete', 'cm', '-l', 'x=y', '--dry-run=server', ...n])).toContain(
      'configmap "a" deleted (server dry run)',
    )
    expect(await shell.ok(['delete', 'cm', '-l', 'x=y', ...n])).toBe(
      'configmap "a" deleted\nconfigmap "b" deleted\n',
    )
    expect((await shell.run(['get', 'cm', 'c', ...n])).code).toBe(0)
    expect(await shell.ok(['delete', 'namespace', 'gone'])).toBe('namespace "gone" deleted\n')
    expect((await shell.run(['get', 'namespace', 'gone'])).code).toBe(1)
  })
})

test('env prints exactly the variables by which a Pod finds Services', async () => {
  const n = await inNew('env')
  await shell.program('kubectl', ['run', 'p', '--image=none', ...n])
  await shell.ok(['create', 'service', 'clusterip', 'my-web', '--tcp=80', ...n])
  const ip = await shell.ok(['get', 'svc', 'my-web', '-o', 'jsonpath={.spec.clusterIP}', ...n])
  const lines = (await shell.ok(['env', 'pod/p', ...n])).split('\n')
  expect(lines.filter((line) => line.startsWith('MY_WEB'))).toEqual([
    `MY_WEB_PORT=tcp://${ip}:80`,
    `MY_WEB_PORT_80_TCP=tcp://${ip}:80`,
    `MY_WEB_PORT_80_TCP_ADDR=${ip}`,
    'MY_WEB_PORT_80_TCP_PORT=80',
    'MY_WEB_PORT_80_TCP_PROTO=tcp',
    `MY_WEB_SERVICE_HOST=${ip}`,
    'MY_WEB_SERVICE_PORT=80',
    'MY_WEB_SERVICE_PORT_80=80',
  ])
  expect(lines).toContain('KUBERNETES_SERVICE_PORT=443')
  const json = await shell.ok(['env', 'p', '-o', 'json', ...n])
  expect(JSON.parse(json)).toMatchObject({ MY_WEB_SERVICE_HOST: ip })
})

describe('the program', () => {
  test.each([
    [['gett', 'svc'], 2, /"gett" is no command; did you mean get\?/],
    [['get', 'svc', '--sort-yb=x'], 2, /did you mean --sort-by\?/],
    [['get', 'servises'], 1, /no resource "servises"; did you mean services\?/],
    [['get', 'svc', '-o', 'yml'], 2, /did you mean yaml\?/],
    [['get'], 2, /a resource is missing/],
    [['get', 'svc', '--context=none'], 2, /no context "none"/],
    [
      ['get', 'svc', '--server=https://127.0.0.1:1'],
      3,
      /refuses connections.*check that the server/,
    ],
    [['get', 'svc', '--token=wrong'], 1, /Unauthorized/],
    [['config', 'use-context', 'none'], 2, /no context "none"/],
    [['create', 'token', 'x', '--duration=soon'], 2, /is no duration/],
  ])('%j ends with %i', async (args, code, message) => {
    const ran = await shell.runApart(args)
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
    expect(ran.stderr).toMatch(/^orchctl: .* \(NP_[A-Z_]+\)\n$/)
  })

  test('help names commands and exit codes; without arguments, too', async () => {
    const help = await shell.runApart(['--help'])
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toMatch(/Exit codes:\n {2}0 {2}done/)
    expect(await shell.runApart([])).toEqual(help)
    expect(await shell.ok(['get', '--help'])).toMatch(/^Usage: orchctl get/)
    const { stdout } = await shell.runApart(['version'])
    expect(stdout).toMatch(/^Client Version: v.*\nServer Version: v/)
  })

  test('contexts: several files, shown without secrets, changed with comments kept', async () => {
    await using own = await openOrchctlShell(server.kubeconfig)
    await own.write(
      'second',
      '# mine\ncontexts:\n- name: other\n  context: {cluster: orch, user: orch-admin, namespace: kube-system}\n',
    )
    const env = { KUBECONFIG: `${join(own.home, 'kubeconfig')}:${join(own.home, 'second')}` }
    expect(await own.ok(['config', 'get-contexts', '-o', 'name'], { env })).toBe('orch\nother\n')
    expect(await own.ok(['get', 'cm', '--context=other', '-o', 'name'], { env })).toContain(
      'configmap/',
    )
    const set = ['config', 'set-context', 'other', '--namespace=default']
    expect(await own.ok(set, { env })).toBe('Context "other" modified.\n')
    expect(await readFile(join(own.home, 'second'), 'utf8')).toMatch(
      /^# mine\n[^]*namespace: default/,
    )
    await own.ok(['config', 'use-context', 'other'], { env })
    expect(await own.ok(['config', 'current-context'], { env })).toBe('other\n')
    const view = await own.ok(['config', 'view'], { env })
    expect(view).toContain('client-key-data: DATA+OMITTED')
    expect(view).not.toMatch(/[A-Za-z0-9+/]{100}/)
  })

  test('completion requests types and names from the server', async () => {
    const words = (...typed: readonly string[]) => shell.ok(['__complete', '--', ...typed])
    expect(await words('desc')).toBe('describe\n')
    expect(await words('get', 'servicea')).toBe('serviceaccounts\n')
    expect(await words('get', 'svc', 'kub')).toBe('kubernetes\n')
    expect(await words('-n', 'default', 'describe', 'svc/kub')).toBe('svc/kubernetes\n')
    expect(await words('create', 'serviceac')).toBe('serviceaccount\n')
    expect(await words('get', '--all')).toBe('--all-namespaces\n')
    expect(await words('get', 'svc', '-n', 'kube-s')).toBe('kube-system\n')
    await shell.write('completion.bash', await shell.ok(['completion', 'bash']))
    const script = 'source completion.bash; declare -F _orchctl'
    expect(await shell.program('bash', ['-c', script])).toBe('_orchctl\n')
  })
})

test('watch goes on across kill -9 of the server, and prints nothing twice', async () => {
  await using own = await openOrchctlShell(server.kubeconfig)
  await own.ok(['create', 'namespace', 'watched'])
  const n = ['-n', 'watched']
  await own.ok(['create', 'service', 'externalname', 'one', '--external-name=a.example', ...n])
  const watch = own.start(['get', 'svc', '--watch', '--output-watch-events', ...n])
  expect(await watch.line()).toMatch(/^EVENT +NAME/)
  expect(await watch.line()).toMatch(/^ADDED +one /)
  await server.kill()
  expect(await watch.complaint()).toContain('is away; waiting for it')
  await server.start()
  expect(await watch.complaint()).toContain('the server is back')
  await own.ok(['create', 'service', 'externalname', 'two', '--external-name=b.example', ...n])
  expect(await watch.line()).toMatch(/^ADDED +two /)
  await own.ok(['label', 'svc', 'one', 'a=b', ...n])
  expect(await watch.line()).toMatch(/^MODIFIED +one /)
  await own.ok(['delete', 'svc', 'one', ...n])
  expect(await watch.line()).toMatch(/^DELETED +one /)
  expect(await watch.stop()).toBe(130)
})
