import { nodeWrite } from '../../../auth/node/node-writes.ts'
import { type Json, valueAt } from '../../../lib/json.ts'
import type { Resource } from '../../resource/resource.ts'
import { nodeRule } from '../shared/node-rule.ts'
import { columns } from './columns.ts'
import { defaultNode } from './defaults.ts'
import { checkNode } from './validation.ts'

export const nodes: Resource = {
  plural: 'nodes',
  singular: 'node',
  kind: 'Node',
  shortNames: ['no'],
  categories: [],
  namespaced: false,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: (sent: Json | undefined) => sent },
  proxied: { name: 'proxy', kind: 'NodeProxyOptions' },
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: (object) => ({
    'spec.unschedulable': String(valueAt(object, 'spec', 'unschedulable') === true),
  }),
  columns,
  checkWriter: nodeRule(nodeWrite, 'nodes', ''),
  validate: checkNode,
  validateUpdate: 'none',
  defaults: defaultNode,
}
