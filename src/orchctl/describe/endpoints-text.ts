import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { type ApiResource, collectionPath } from '../discovery/api-resource.ts'
import type { Api } from '../session/api.ts'

/** The addresses behind a Service: of its EndpointSlices, with those that are not ready marked. */
export async function endpointsText(
  api: Api,
  slices: ApiResource,
  service: JsonObject,
): Promise<string> {
  const [namespace = '', name = ''] = ['namespace', 'name'].map((key) => {
    return stringAt(service, 'metadata', key)
  })
  const answer = await api.request({
    path: collectionPath(slices, namespace),
    query: { labelSelector: `kubernetes.io/service-name=${name}` },
  })
  if (!answer.ok) return `Endpoints:  <they cannot be read: ${answer.failure.reason}>\n`
  const lines = arrayAt(answer.value.body, 'items').flatMap(linesOf)
  if (lines.length === 0) {
    return 'Endpoints:  <none: no Pod is ready that the selector matches>\n'
  }
  return `Endpoints:\n${[...new Set(lines)].map((line) => `  ${line}\n`).join('')}`
}

function linesOf(slice: Json): readonly string[] {
  return arrayAt(slice, 'ports').flatMap((port) => {
    const portName = stringAt(port, 'name')
    const number = scalarText(valueAt(port, 'port'))
    const label = `${portName === '' ? '' : `${portName} `}${stringAt(port, 'protocol')}`
    return arrayAt(slice, 'endpoints').flatMap((endpoint) =>
      arrayAt(endpoint, 'addresses').map((address) => {
        const text = scalarText(address)
        const host = text.includes(':') ? `[${text}]` : text
        return `${host}:${number} ${label}${stateOf(endpoint)}${targetOf(endpoint)}`
      }),
    )
  })
}

function stateOf(endpoint: Json): string {
  if (valueAt(endpoint, 'conditions', 'terminating') === true) return ' (terminating)'
  return valueAt(endpoint, 'conditions', 'ready') === false ? ' (not ready)' : ''
}

function targetOf(endpoint: Json): string {
  const kind = stringAt(endpoint, 'targetRef', 'kind').toLowerCase()
  return kind === '' ? '' : `  ${kind}/${stringAt(endpoint, 'targetRef', 'name')}`
}
