import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { useOrchctl } from './use-orchctl.ts'

const kube = useOrchctl()

const WEB = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports:
  - {port: 80, protocol: TCP}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: fast}
`

describe('files', () => {
  test('apply creates, leaves, changes; create refuses; delete removes', async () => {
    const { shell, inNew } = kube()
    const n = await inNew('files')
    await shell.write('web.yaml', WEB)
    const apply = ['apply', '-f', 'web.yaml', ...n]
    expect(await shell.ok(apply)).toBe('service/web created\nconfigmap/settings created\n')
    expect(await shell.ok(apply)).toBe('service/web unchanged\nconfigmap/settings unchanged\n')
    const slow = { input: WEB.replace('fast', 'slow') }
    expect(await shell.ok(['apply', '-f', '-', '--dry-run=server', ...n], slow)).toContain(
      'configmap/settings configured (server dry run)',
    )
    expect(await shell.ok(['apply', '-f', '-', ...n], slow)).toContain('settings configured')
    const again = await shell.run(['create', '-f', 'web.yaml', ...n])
    expect(again).toMatchObject({ code: 1, stdout: '' })
    expect(again.stderr).toMatch(/^orchctl: web.yaml:1:1: AlreadyExists: .*\n.*web.yaml:10:1: /)
    expect(await shell.ok(['delete', '-f', 'web.yaml', ...n])).toBe(
      'service "web" deleted\nconfigmap "settings" deleted\n',
    )
  })

  test.each([
    [
      'an invalid value',
      ['port: 80', 'port: 99999'],
      /:8:6: spec\.ports\[0\]\.port: Invalid value/,
    ],
    ['an unknown field', ['selector:', 'selektor:'], /:6:3: spec\.selektor: field not declared/],
    [
      'an item of a list without its key',
      [', protocol: TCP', ''],
      /:8:5: spec\.ports\[0\]: associative list with keys has an element that omits key field/,
    ],
  ])('%s is named with line and column', async (name, [from = '', to = ''], message) => {
    const { shell, inNew } = kube()
    const n = await inNew(name.replaceAll(' ', '-'))
    const ran = await shell.run(['apply', '-f', '-', ...n], { input: WEB.replace(from, to) })
    expect(ran).toMatchObject({ code: 1, stdout: 'configmap/settings created\n' })
    expect(ran.stderr).toMatch(message)
  })

  test('a conflict changes nothing until it is forced', async () => {
    const { shell, inNew } = kube()
    const n = await inNew('conflict')
    await shell.ok(['apply', '-f', '-', ...n], { input: WEB })
    await shell.ok(['label', 'svc', 'web', 'a=other', ...n, '--field-manager=someone'])
    const input = WEB.replace('name: web', 'name: web\n  labels: {a: mine}')
    const refused = await shell.run(['apply', '-f', '-', ...n], { input })
    expect(refused.stderr).toMatch(/Conflict: .*"someone".*--force-conflicts/)
    const label = ['get', 'svc', 'web', '-o', 'jsonpath={.metadata.labels.a}', ...n]
    expect(await shell.ok(label)).toBe('other')
    await shell.ok(['apply', '-f', '-', ...n, '--force-conflicts'], { input })
    expect(await shell.ok(label)).toBe('mine')
  })
})

describe('objects', () => {
  test('of flags: the same as kubectl creates', async () => {
    const { shell, inNew, both } = kube()
    const n = await inNew('flags')
    for (const args of [
      ['configmap', 'c', '--from-literal=a=b'],
      ['secret', 'generic', 's', '--from-literal=a=b=c'],
      ['service', 'clusterip', 'web', '--tcp=80:8080'],
      ['service', 'nodeport', 'np', '--tcp=80'],
      ['service', 'loadbalancer', 'lb', '--tcp=80:http'],
      ['service', 'externalname', 'far', '--external-name=example.com'],
      ['serviceaccount', 'robot'],
      ['namespace', 'other'],
      ['clusterrole', 'cr', '--verb=get', '--non-resource-url=/metrics'],
      ['role', 'r', '--verb=get,list', '--resource=pods,pods/log,deployments.apps'],
      ['rolebinding', 'rb', '--clusterrole=view', '--serviceaccount=flags:robot', '--user=ann'],
      ['clusterrolebinding', 'crb', '--clusterrole=view', '--group=devs'],
    ]) {
      const dry = ['create', ...args, '--dry-run=server', '-o', 'json', ...n]
      const { ours, theirs } = await both(dry)
      expect(specOf(ours)).toEqual(specOf(theirs))
      expect(await shell.ok(['create', ...args, ...n])).toMatch(/ created\n$/)
    }
  })

  test('labels, annotations and replicas', async () => {
    const { shell, inNew } = kube()
    const n = await inNew('changes')
    await shell.ok(['create', 'configmap', 'c', ...n])
    expect(await shell.ok(['label', 'cm/c', 'a=1', 'b=2', ...n])).toBe('configmap/c labeled\n')
    expect(await shell.run(['label', 'cm/c', 'a=3', ...n])).toMatchObject({ code: 1, stdout: '' })
    await shell.ok(['label', 'cm/c', 'a=3', 'b-', '--overwrite', ...n])
    await shell.ok(['annotate', 'cm/c', 'note=two words', ...n])
    const metadata = ['get', 'cm/c', '-o', 'jsonpath={.metadata.labels} {.metadata.annotations}']
    expect(await shell.ok([...metadata, ...n])).toBe('{"a":"3"} {"note":"two words"}')
    await shell.program('kubectl', ['create', 'deployment', 'd', '--image=none', ...n])
    expect(await shell.ok(['scale', 'deploy/d', '--replicas=3', ...n])).toBe(
      'deployment.apps/d scaled\n',
    )
    const wrong = ['scale', 'deploy/d', '--replicas=1', '--current-replicas=2', ...n]
    expect((await shell.run(wrong)).code).toBe(1)
    expect(await shell.ok(['get', 'deploy', 'd', '-o', 'jsonpath={.spec.replicas}', ...n])).toBe(
      '3',
    )
  })

  test('edit saves, and opens again after a refusal', async () => {
    const { shell, inNew } = kube()
    const n = await inNew('edit')
    await shell.ok(['create', 'service', 'clusterip', 'web', '--tcp=80', ...n])
    const editor = async (name: string, script: string) => {
      await shell.write(name, `#!/bin/sh\n${script}\n`)
      await chmod(join(shell.home, name), 0o755)
      return { env: { EDITOR: join(shell.home, name) } }
    }
    const port = () => shell.ok(['get', 'svc/web', '-o', 'jsonpath={.spec.ports[0].port}', ...n])
    const simple = await editor('simple', 'sed -i "s/port: 80/port: 81/" "$1"')
    expect(await shell.ok(['edit', 'svc', 'web', ...n], simple)).toBe('service/web edited\n')
    expect(await port()).toBe('81')
    const twice = await editor(
      'twice',
      `if grep -q '^# error: .*port' "$1"; then sed -i 's/port: 99999/port: 82/' "$1"; else sed -i 's/port: 81/port: 99999/' "$1"; fi`,
    )
    await shell.ok(['edit', 'svc', 'web', ...n], twice)
    expect(await port()).toBe('82')
  })

  test('delete waits until the namespace is gone', async () => {
    const { shell, inNew } = kube()
    const n = await inNew('gone')
    for (const name of ['a', 'b']) await shell.ok(['create', 'configmap', name, ...n])
    await shell.ok(['label', 'cm', 'a', 'x=y', ...n])
    expect(await shell.ok(['delete', 'cm', '-l', 'x=y', ...n])).toBe('configmap "a" deleted\n')
    expect((await shell.run(['get', 'cm', 'b', ...n])).code).toBe(0)
    expect(await shell.ok(['delete', 'namespace', 'gone'])).toBe('namespace "gone" deleted\n')
    expect((await shell.run(['get', 'namespace', 'gone'])).code).toBe(1)
  })
})

function specOf(text: string) {
  const { metadata, ...object } = JSON.parse(text) as { metadata: { name: string } }
  // The server allocates another address and node port for each request.
  const json = JSON.stringify(object).replaceAll(/10\.96\.\d+\.\d+/g, 'IP')
  return [metadata.name, JSON.parse(json.replaceAll(/"nodePort":\d+/g, '"nodePort":0'))] as const
}

describe('identity', () => {
  test('a token has the audience, life and object that were requested, and the rights of its account', async () => {
    const { shell, inNew } = kube()
    const n = await inNew('tokens')
    await shell.ok(['create', 'sa', 'robot', ...n])
    const token = ['create', 'token', 'robot', ...n]
    const text = await shell.ok([...token, '--duration=2h'])
    const claims = claimsOf(text)
    expect(claims).toMatchObject({ sub: 'system:serviceaccount:tokens:robot' })
    expect(claims.exp - claims.iat).toBe(7_200)
    const theirs = claimsOf(await shell.program('kubectl', [...token, '--duration=2h']))
    expect(Object.keys(claims)).toEqual(Object.keys(theirs))
    expect(claimsOf(await shell.ok([...token, '--audience=a', '--audience=b'])).aud).toEqual([
      'a',
      'b',
    ])
    await shell.ok(['create', 'secret', 'generic', 's', ...n])
    const bound = ['--bound-object-kind=Secret', '--bound-object-name=s']
    expect(claimsOf(await shell.ok([...token, ...bound]))['kubernetes.io']).toMatchObject({
      secret: { name: 's' },
    })
    const as = ['--token', text.trim(), ...n]
    expect((await shell.run(['get', 'pods', ...as])).stderr).toMatch(/Forbidden: .*can-i --list/)
    await shell.ok(['create', 'role', 'reader', '--verb=list', '--resource=pods', ...n])
    const bind = ['--role=reader', '--serviceaccount=tokens:robot']
    await shell.ok(['create', 'rolebinding', 'reader', ...bind, ...n])
    await expect
      .poll(() => shell.run(['auth', 'can-i', 'list', 'pods', ...as]))
      .toEqual({ code: 0, stdout: 'yes\n', stderr: '' })
    expect(await shell.run(['get', 'pods', ...as])).toMatchObject({ code: 0 })
    expect(await shell.run(['auth', 'can-i', 'delete', 'pods', ...as])).toMatchObject({
      code: 1,
      stdout: 'no\n',
    })
    expect(await shell.ok(['auth', 'can-i', '--list', ...as])).toMatch(
      /^pods +\[\] +\[\] +\[list\]$/m,
    )
  })

  test('a server without SelfSubjectReview says so', async () => {
    expect(await kube().shell.run(['auth', 'whoami'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has no SelfSubjectReview; Kubernetes has it since 1\.28/),
    })
  })
})

function claimsOf(token: string) {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')
  return JSON.parse(payload) as Record<string, unknown> & { exp: number; iat: number }
}
