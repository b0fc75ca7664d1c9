import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { POD, startApi } from '../testing/test-api.ts'
import { validateObject } from './testing/rules-by-kind.ts'

const METADATA = { name: 'web-5', namespace: 'shop' }
const REVISIONS = '/apis/apps/v1/namespaces/default/controllerrevisions'
const SETS = '/apis/apps/v1/namespaces/default/daemonsets'
const labels = { app: 'web' }

test.each<[Raw, readonly string[]]>([
  [{ data: {} }, []],
  [{ data: { spec: { template: { $patch: 'replace' } } }, revision: 2 ** 40 }, []],
  [{}, ['data (absent)']],
  [{ data: 'text' }, ['data "text"']],
  [{ data: [] }, ['data []']],
  [{ data: {}, revision: -1 }, ['revision -1']],
  [{ data: {}, revision: 1.5 }, ['revision 1.5']],
  [{ data: {}, revision: '1' }, ['revision "1"']],
])('a ControllerRevision with %j: rejected fields %j', (parts, expected) => {
  expect(placesOf(validateObject('ControllerRevision', { metadata: METADATA, ...parts }))).toEqual(
    expected,
  )
})

test('its data is a patch that brings an object back, with keys that the schema does not know', async () => {
  const api = await startApi()
  const template = { metadata: { labels }, spec: POD }
  await api.make(SETS, {
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: labels },
      template: { ...template, spec: { ...POD, hostNetwork: true } },
    },
  })
  const data = {
    spec: {
      template: { ...template, metadata: { labels, annotations: { a: 'b' } }, $patch: 'replace' },
    },
  }
  const made = await api.make(REVISIONS, { metadata: { name: 'web-5' }, data, revision: 5 })
  expect(made).toMatchObject({ data, revision: 5 })
  const headers = { 'content-type': 'application/strategic-merge-patch+json' }
  const changed = await api.call('PATCH', `${SETS}/web`, { body: data, headers })
  expect(changed.body).toMatchObject({
    metadata: { generation: 2 },
    spec: { template: { metadata: { annotations: { a: 'b' } } } },
  })
  expect(changed.body).not.toHaveProperty('spec.template.spec.hostNetwork')
  expect(changed.body).not.toHaveProperty('spec.template.$patch')
})
