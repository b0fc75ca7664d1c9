import { valueAt } from '../../../lib/json.ts'
import type { Resource } from '../../resource/resource.ts'
import { queryText } from '../shared/selector-text.ts'
import { columns } from './columns.ts'
import { defaultDeployment } from './defaults.ts'
import { checkDeployment, checkDeploymentUpdate } from './validation.ts'

/** apps/v1 Deployment with the subresources status and scale. */
export const deployments: Resource = {
  plural: 'deployments',
  singular: 'deployment',
  kind: 'Deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  namespaced: true,
  versions: [{ group: 'apps', version: 'v1' }],
  status: { initial: () => ({}) },
  scale: { selector: (object) => queryText(valueAt(object, 'spec', 'selector')) },
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: true,
  fields: () => ({}),
  columns,
  validate: checkDeployment,
  validateUpdate: checkDeploymentUpdate,
  defaults: defaultDeployment,
}
