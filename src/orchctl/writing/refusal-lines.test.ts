import { expect, test } from 'vitest'
import { parseManifests } from '../../manifests/manifests.ts'
import { refused } from '../session/call-failure.ts'
import { manifestRefusal } from './refusal-lines.ts'

const TEXT = `apiVersion: v1
kind: Service
spec:
  ports:
  - port: 80
  - port: 81
`

test.each([
  [
    'failed to create typed patch object: .spec.ports: element 1: the key field "protocol" is missing',
    'web.yaml:6:5: spec.ports[1]: the key field "protocol" is missing',
  ],
  ['errors:\n  .spec.x: field not declared in schema', 'web.yaml:3:1: spec.x: field not declared'],
  ['strict decoding error: unknown field "spec.y"', 'web.yaml:3:1: spec.y: unknown field'],
  ['no', 'web.yaml:1:1: Invalid: no'],
])('%j stands at its line', (message, expected) => {
  const [manifest] = parseManifests({ file: 'web.yaml', text: TEXT })
  const failure = refused(422, { reason: 'Invalid', message })
  const errors = manifestRefusal(failure, manifest!).map((error) => error.message)
  expect(errors).toEqual([expect.stringContaining(expected)])
})
