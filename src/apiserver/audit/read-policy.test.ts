import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  createTemporaryFolder,
  type TemporaryFolder,
} from '../../client/testing/temporary-folder.ts'
import type { NodeProxyError } from '../../lib/error.ts'
import { parseAuditPolicy, readAuditPolicy } from './read-policy.ts'

let folder: TemporaryFolder
beforeEach(() => {
  folder = createTemporaryFolder()
})
afterEach(() => folder.remove())

function faultOf(text: string): string {
  try {
    parseAuditPolicy(text, 'p.yaml')
  } catch (error) {
    expect((error as NodeProxyError).code).toBe('NP_APISERVER_AUDIT_POLICY')
    return (error as NodeProxyError).message.replace('the audit policy cannot be used: ', '')
  }
  return ''
}

const HEAD = 'apiVersion: audit.orch.io/v1\nkind: Policy\n'

function faultOfRule(rule: string): string {
  return faultOf(`${HEAD}rules:\n- ${rule}\n`)
}

test('a policy of either brand is read, and metadata is left alone', () => {
  const text = `apiVersion: audit.k8s.io/v1
kind: Policy
metadata: {name: x, anything: {at: [all]}}
omitStages: [Panic]
omitManagedFields: true
rules:
- level: Request
  resources: [{group: networking.orch.io, resources: [networkpolicies]}]
  omitStages: [ResponseStarted]
- {level: None, omitManagedFields: false}
`
  const [first, second] = parseAuditPolicy(text, 'p.yaml').rules
  expect(first).toEqual({
    level: 'Request',
    users: undefined,
    userGroups: undefined,
    verbs: undefined,
    namespaces: undefined,
    resources: [
      { group: 'networking.k8s.io', resources: ['networkpolicies'], resourceNames: new Set() },
    ],
    nonResourceURLs: undefined,
    omitStages: new Set(['Panic', 'ResponseStarted']),
    omitManagedFields: true,
  })
  expect(second).toMatchObject({ level: 'None', omitManagedFields: false })
})

test('anchors and JSON are YAML', () => {
  const anchored = `${HEAD}rules:\n- &a {level: None, verbs: [get]}\n- *a\n`
  expect(parseAuditPolicy(anchored, 'p').rules).toHaveLength(2)
  const json = '{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"Metadata"}]}'
  expect(parseAuditPolicy(json, 'p').rules).toHaveLength(1)
})

describe('a rule is refused with its place, its value and the remedy', () => {
  test.each([
    ['level: metadata', 'p.yaml:4:10: rules[0].level: "metadata": write None or Metadata or'],
    ['users: [ann]', 'p.yaml:4:3: rules[0].level: write None or'],
    [
      '{level: None, user: [ann]}',
      'p.yaml:4:17: rules[0].user: unknown field; did you mean users?',
    ],
    ['{level: None, users: ann}', 'p.yaml:4:24: rules[0].users: "ann": write a list'],
    ['{level: None, users: [1]}', 'rules[0].users[0]: 1: write text, in quotes'],
    ['{level: None, users: ["*"]}', 'rules[0].users[0]: "*": names are compared literally'],
    ['{level: None, verbs: ["*"]}', 'rules[0].verbs[0]: "*": names are compared literally'],
    ['{level: None, verbs: [GET]}', 'rules[0].verbs[0]: "GET": write verbs in lower case'],
    ['{level: None, namespaces: ["kube-*"]}', 'rules[0].namespaces[0]: "kube-*": names are'],
    ['{level: None, omitStages: [Done]}', 'rules[0].omitStages[0]: "Done": write RequestReceived,'],
    ['{level: None, omitManagedFields: yes}', 'omitManagedFields: "yes": write true or false'],
    ['{level: None, nonResourceURLs: [x]}', 'rules[0].nonResourceURLs[0]: "x": write a path'],
    ['{level: None, nonResourceURLs: ["/a*b"]}', '"/a*b": write * only at the end'],
    ['{level: None, nonResourceURLs: [/a], namespaces: [b]}', 'is for resources or for paths'],
    ['{level: None, nonResourceURLs: [/a], resources: [{}]}', 'is for resources or for paths'],
    ['{level: None, resources: [pods]}', 'rules[0].resources[0]: "pods": write a map of group,'],
    ['{level: None, resources: [{group: apps/v1}]}', '"apps/v1": write one group without its'],
    ['{level: None, resources: [{group: "*"}]}', 'resources[0].group: "*": write one group'],
    ['{level: None, resources: [{group: 1}]}', 'resources[0].group: 1: write one group'],
    ['{level: None, resources: [{resources: [Pod]}]}', '"Pod": write resources in plural'],
    ['{level: None, resources: [{resources: ["*/*"]}]}', '"*/*": write resources in plural'],
    ['{level: None, resources: [{resources: ["po*"]}]}', '"po*": write resources in plural'],
    ['{level: None, resources: [{resourceNames: [a]}]}', 'resourceNames need resources'],
    ['5', 'p.yaml:4:3: rules[0]: 5: write a map of level, users'],
  ])('%s', (rule, expected) => {
    expect(faultOfRule(rule)).toContain(expected)
  })
})

describe('a file is refused', () => {
  test.each([
    ['', 'write a map of apiVersion, kind'],
    ['[]', 'write a map of apiVersion, kind'],
    ['kind: Policy\nrules: [{level: None}]', 'p.yaml:1:1: apiVersion: write audit.orch.io/v1 or'],
    [
      'apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]',
      'p.yaml:1:13: apiVersion: "audit.k8s.io/v1beta1": write audit.orch.io/v1 or audit.k8s.io/v1',
    ],
    ['apiVersion: audit.orch.io/v1\nkind: Event\nrules: [{level: None}]', 'kind: "Event": write'],
    [HEAD, 'rules: write at least one rule'],
    [`${HEAD}rules: []`, 'p.yaml:3:8: rules: write at least one rule'],
    [`${HEAD}rules: {}`, 'rules: write a list'],
    [`${HEAD}kind: Policy`, 'p.yaml:3:1: the field stands here for the second time'],
    ['\tapiVersion: x', 'p.yaml:1:1'],
    [`${HEAD}---\n${HEAD}`, 'a second document starts here'],
    ['*b', 'an alias without its anchor'],
    [`${HEAD}rules: *b`, 'p.yaml:3:8: rules: an alias without its anchor'],
    [`${HEAD}rules: ${'['.repeat(5000)}`, 'p.yaml:'],
    [`${HEAD}rules: &a [*a]`, 'p.yaml:'],
    ['#'.repeat(1_100_000), 'larger than 1 MiB'],
  ])('%j', (text, expected) => {
    expect(faultOf(text)).toContain(expected)
  })

  test('with all problems up to ten, in the order of the file', () => {
    const rules = '- {level: x}\n'.repeat(50)
    const faults = faultOf(`${HEAD}rules:\n${rules}`).split('; p.yaml')
    expect(faults).toHaveLength(10)
    expect(faults.at(-1)).toContain('there is more')
  })

  test('when anchors would grow', () => {
    const bomb = [`${HEAD}metadata:`, '  a: &a [x,x,x,x,x,x,x,x,x]']
    for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg']) {
      bomb.push(`  ${to}: &${to} [${Array(9).fill(`*${from}`).join(',')}]`)
    }
    bomb.push('rules: [{level: None, users: *e}]')
    expect(faultOf(bomb.join('\n'))).toContain('too many values')
  })
})

test('a file is read, and one that is missing or endless is refused', async () => {
  const path = folder.write('policy.yaml', `${HEAD}rules: [{level: Metadata}]`)
  expect((await readAuditPolicy(path)).rules).toHaveLength(1)
  const code = 'NP_APISERVER_AUDIT_POLICY'
  await expect(readAuditPolicy(`${path}.no`)).rejects.toMatchObject({
    code,
    message: expect.stringContaining('cannot be read: ENOENT'),
  })
  await expect(readAuditPolicy('/dev/zero')).rejects.toMatchObject({ code })
})
