import { spawnSync } from 'node:child_process'
import { delimiter } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShellOnTerminal, type ShellOnTerminal } from '../support/orchctl/interactive-shell.ts'
import { type OrchctlShell, openOrchctlShell } from '../support/orchctl/orchctl-shell.ts'
import { orchctlOnPath, type ProgramOnPath } from '../support/orchctl/program-on-path.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

let server: OrchServerProcess
let shell: OrchctlShell
let onPath: ProgramOnPath

beforeAll(async () => {
  server = await startOrchServer()
  shell = await openOrchctlShell(server.kubeconfig)
  onPath = await orchctlOnPath(shell)
  const n = ['-n', 'shop']
  await shell.ok(['create', 'namespace', 'shop'])
  await shell.ok(['create', 'serviceaccount', 'robot', ...n])
  await shell.ok(['create', 'service', 'clusterip', 'web-front', '--tcp=80:8080', ...n])
  await shell.ok(['create', 'role', 'reader', '--verb=get', '--resource=pods', ...n])
  await shell.ok([
    'create',
    'clusterrole',
    'hostile$(touch pwned)',
    '--verb=get',
    '--resource=pods',
  ])
  await shell.program('kubectl', ['run', 'pod-one', '--image=none', ...n])
  await shell.program('kubectl', ['create', 'deployment', 'web', '--image=none', ...n])
  await shell.ok(['config', 'set-context', 'another', '--cluster=orch', '--user=orch-admin'])
})

afterAll(async () => {
  await onPath?.[Symbol.asyncDispose]()
  await shell?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

/** A line with the word that is typed at its end, and what it becomes; there is one candidate each. */
const LINES: readonly (readonly [string, string])[] = [
  ['orchctl desc', 'orchctl describe'],
  ['orchctl config use-', 'orchctl config use-context'],
  ['orchctl create serviceac', 'orchctl create serviceaccount'],
  ['orchctl create secret gen', 'orchctl create secret generic'],
  ['orchctl get --all-n', 'orchctl get --all-namespaces'],
  ['orchctl get --kubec', 'orchctl get --kubeconfig'],
  ['orchctl get servicea', 'orchctl get serviceaccounts'],
  ['orchctl get pods,servicea', 'orchctl get pods,serviceaccounts'],
  ['orchctl get svc -n shop web', 'orchctl get svc -n shop web-front'],
  ['orchctl -n shop describe svc/we', 'orchctl -n shop describe svc/web-front'],
  ['orchctl get svc -l a=b -n sho', 'orchctl get svc -l a=b -n shop'],
  ['orchctl get svc --namespace=sho', 'orchctl get svc --namespace=shop'],
  ['orchctl get svc --output=ya', 'orchctl get svc --output=yaml'],
  ['orchctl get svc -o ya', 'orchctl get svc -o yaml'],
  ['orchctl apply --dry-run ser', 'orchctl apply --dry-run server'],
  ['orchctl get svc --context ano', 'orchctl get svc --context another'],
  ['orchctl config use-context ano', 'orchctl config use-context another'],
  ['orchctl create token -n shop rob', 'orchctl create token -n shop robot'],
  [
    'orchctl create rolebinding x -n shop --role rea',
    'orchctl create rolebinding x -n shop --role reader',
  ],
  [
    'orchctl create rolebinding x -n shop --serviceaccount=shop:rob',
    'orchctl create rolebinding x -n shop --serviceaccount=shop:robot',
  ],
  ['orchctl env -n shop pod/pod', 'orchctl env -n shop pod/pod-one'],
  ['orchctl resolve web-f', 'orchctl resolve web-f'],
  ['orchctl resolve -n shop web-f', 'orchctl resolve -n shop web-front'],
  ['orchctl resolve web -n shop --from pod/p', 'orchctl resolve web -n shop --from pod/pod-one'],
  ['orchctl resolve web --type SR', 'orchctl resolve web --type SRV'],
  ['orchctl scale dep', 'orchctl scale deployments'],
  ['orchctl auth can-i deletec', 'orchctl auth can-i deletecollection'],
  ['orchctl auth can-i get servicea', 'orchctl auth can-i get serviceaccounts'],
  ['orchctl completion zs', 'orchctl completion zsh'],
  // What would be code of a shell is no candidate.
  ['orchctl get clusterroles hosti', 'orchctl get clusterroles hosti'],
  // A file of the home, where nothing else is known.
  ['orchctl apply -f kubeco', 'orchctl apply -f kubeconfig'],
]

const END = 'THATS-ALL'

function has(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined
}

describe.skipIf(!has('fish'))('fish', () => {
  let candidates: readonly string[] = []

  beforeAll(async () => {
    const each = LINES.map(([line]) => `complete -C "${line}"; echo ${END}`)
    const script = ['orchctl completion fish | source', ...each].join('\n')
    const env = {
      PATH: `${onPath.folder}${delimiter}${process.env['PATH']}`,
      XDG_CONFIG_HOME: shell.home,
    }
    candidates = (await shell.program('fish', ['--no-config', '-c', script], { env })).split(END)
  })

  test.each(LINES.map(([line, completed], index) => [line, completed, index] as const))(
    '%s',
    (line, completed, index) => {
      const words = line.split(' ')
      const found = candidates[index]!.split('\n').filter((word) => word !== '')
      expect(found).toEqual(completed === line ? [] : [completed.split(' ').at(words.length - 1)])
    },
  )
})

describe.each(['bash', 'zsh'] as const)('%s', (program) => {
  let terminal: ShellOnTerminal | undefined

  beforeAll(async () => {
    if (has(program)) terminal = await openShellOnTerminal(program, shell, onPath.folder)
  })
  afterAll(() => terminal?.[Symbol.asyncDispose]())

  test.skipIf(!has(program)).each(LINES)('%s', async (line, completed) => {
    expect(await terminal?.completed(line)).toBe(completed)
  })
})

test('several candidates, and none without a server', async () => {
  const words = (...typed: readonly string[]) => shell.ok(['__complete', '--', ...typed])
  const apart = await shell.runApart(['__complete', '--', 'create', 'cluster'])
  expect(apart).toEqual({ code: 0, stdout: 'clusterrole\nclusterrolebinding\n', stderr: '' })
  expect(await words('get', 'svc', '--server=https://127.0.0.1:1', 'x')).toBe('')
  expect(await words('nonsense', 'x')).toBe('')
})
