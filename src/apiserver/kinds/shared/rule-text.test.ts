import { expect, test } from 'vitest'
import type { PolicyRule } from '../../../auth/rbac/policy-rule.ts'
import { ruleTexts } from './escalation.ts'

const PODS: PolicyRule = {
  verbs: ['get'],
  apiGroups: [''],
  resources: ['pods'],
  resourceNames: [],
  nonResourceURLs: [],
}

test('a rule is printed without its empty lists', () => {
  const path = { ...PODS, apiGroups: [], resources: [], nonResourceURLs: ['/logs/*', '/a"b'] }
  expect(ruleTexts([{ ...PODS, resourceNames: ['a', 'b'] }, path])).toEqual([
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["a" "b"], Verbs:["get"]}',
    String.raw`{NonResourceURLs:["/logs/*" "/a\"b"], Verbs:["get"]}`,
  ])
})

test('verbs of the same objects are one rule, each verb once', () => {
  const list = { ...PODS, verbs: ['list', 'get'] }
  expect(ruleTexts([PODS, { ...PODS, resources: ['nodes'] }, list])).toEqual([
    '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}',
  ])
})
