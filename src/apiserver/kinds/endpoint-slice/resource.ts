import type { Resource } from '../../resource/resource.ts'
import { columns } from './columns.ts'
import { defaultEndpointSlice } from './defaults.ts'
import { sliceFromV1beta1, sliceToV1beta1 } from './v1beta1.ts'
import { checkEndpointSlice, checkEndpointSliceUpdate } from './validation.ts'

const GROUP = 'discovery.k8s.io'

const ALIAS = 'discovery.orch.io'

export const endpointSlices: Resource = {
  plural: 'endpointslices',
  singular: 'endpointslice',
  kind: 'EndpointSlice',
  shortNames: [],
  categories: [],
  namespaced: true,
  versions: [
    { group: GROUP, version: 'v1' },
    { group: GROUP, version: 'v1beta1', fromStored: sliceToV1beta1, toStored: sliceFromV1beta1 },
    { group: ALIAS, version: 'v1' },
  ],
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: true,
  fields: () => ({}),
  columns,
  validate: checkEndpointSlice,
  validateUpdate: checkEndpointSliceUpdate,
  defaults: defaultEndpointSlice,
}
