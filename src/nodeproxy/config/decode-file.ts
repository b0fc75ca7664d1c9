import { nearest } from '../../lib/nearest.ts'
import type { FieldPath } from './configuration.ts'
import { type AnyField, FIELD_BY_PATH } from './fields/index.ts'
import { IGNORED_FIELDS } from './ignored-fields.ts'
import { type Position, type Problem, quote } from './problem.ts'
import type { Setting } from './settings.ts'
import type { Raw } from './value-type.ts'
import { type Entry, readYaml } from './yaml-source.ts'

export const API_VERSION = 'proxy.config.orch.io/v1alpha1'
export const KIND = 'NodeProxyConfiguration'

const KUBE_API_VERSION = 'kubeproxy.config.k8s.io/v1alpha1'
const KUBE_KIND = 'KubeProxyConfiguration'

export interface FileResult {
  readonly settings: ReadonlyMap<FieldPath, Setting>
  readonly problems: readonly Problem[]
  /** What was accepted and means nothing here. */
  readonly warnings: readonly Problem[]
}

/** Paths that hold fields and none themselves: `ipvs`, `ipvs.gracefulTermination`. */
const SECTIONS: ReadonlySet<string> = new Set(
  [...FIELD_BY_PATH.keys(), ...IGNORED_FIELDS.keys()].flatMap((path) => {
    const names = path.split('.')
    return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'))
  }),
)

/** Every setting of a configuration file of either kind, and everything that is wrong with it. */
export function decodeFile(file: string, text: string): FileResult {
  const yaml = readYaml(file, text)
  if (!yaml.ok) return { settings: new Map(), problems: yaml.problems, warnings: [] }
  const kind = readKind(yaml.entries, yaml.start)
  if ('code' in kind) return { settings: new Map(), problems: [kind], warnings: [] }
  const decoder = new Decoder(kind.kube)
  for (const entry of yaml.entries) {
    if (entry.key !== 'apiVersion' && entry.key !== 'kind') decoder.read(entry, '')
  }
  return decoder
}

function readKind(entries: readonly Entry[], start: Position): { kube: boolean } | Problem {
  const find = (key: string) => entries.find((entry) => entry.key === key)
  const text = (key: string) => {
    const value = find(key)?.value
    return value !== undefined && 'raw' in value ? value.raw : undefined
  }
  const [apiVersion, kind] = [text('apiVersion'), text('kind')]
  if (apiVersion === API_VERSION && kind === KIND) return { kube: false }
  if (apiVersion === KUBE_API_VERSION && kind === KUBE_KIND) return { kube: true }
  const field =
    apiVersion === API_VERSION || apiVersion === KUBE_API_VERSION ? 'kind' : 'apiVersion'
  const wanted = `apiVersion: ${API_VERSION} with kind: ${KIND}, or apiVersion: ${KUBE_API_VERSION} with kind: ${KUBE_KIND}`
  return {
    code: 'NP_NODEPROXY_CONFIG_KIND',
    at: find(field)?.valueAt ?? start,
    field,
    value: find(field) && quote(text(field) ?? null),
    message: `write ${wanted}`,
  }
}

class Decoder implements FileResult {
  readonly settings = new Map<FieldPath, Setting>()
  readonly problems: Problem[] = []
  readonly warnings: Problem[] = []
  readonly #kube: boolean

  constructor(kube: boolean) {
    this.#kube = kube
  }

  read(entry: Entry, section: string): void {
    const path = section + entry.key
    const field = FIELD_BY_PATH.get(path)
    const ignored = IGNORED_FIELDS.get(path)
    if (field !== undefined) this.#readField(entry, path as FieldPath, field)
    else if (SECTIONS.has(path)) this.#readSection(entry, path)
    else if (ignored !== undefined && this.#kube) this.#ignore(entry, path, ignored)
    else this.#reject(entry, path, ignored)
  }

  #readSection(entry: Entry, path: string): void {
    const { value } = entry
    if ('map' in value) {
      for (const child of value.map) this.read(child, `${path}.`)
    } else if ('bad' in value || value.raw !== null) {
      const text = 'raw' in value ? quote(value.raw) : undefined
      const message = 'bad' in value ? value.bad : 'write a map of fields'
      this.problems.push(
        problem('NP_NODEPROXY_CONFIG_VALUE', entry.valueAt, {
          field: path,
          value: text,
          message,
        }),
      )
    }
  }

  #readField(entry: Entry, path: FieldPath, field: AnyField): void {
    const { value, valueAt } = entry
    if (!('raw' in value)) {
      const message = 'bad' in value ? value.bad : 'write one value, not a map'
      this.problems.push(
        problem('NP_NODEPROXY_CONFIG_VALUE', valueAt, { field: path, value: undefined, message }),
      )
      return
    }
    if (value.raw === null || (this.#kube && field.zeroIsUnset && isZero(value.raw))) return
    const decoded = field.type.decode(value.raw)
    if (decoded.ok) {
      this.settings.set(path, { value: decoded.value, origin: { from: 'file', at: valueAt } })
    } else {
      const text = quote(value.raw)
      const message = decoded.remedy
      this.problems.push(
        problem('NP_NODEPROXY_CONFIG_VALUE', valueAt, { field: path, value: text, message }),
      )
    }
  }

  #ignore(entry: Entry, path: string, reason: string): void {
    if (isEmpty(entry)) return
    const message = `ignored: ${reason}`
    this.warnings.push(
      problem('NP_NODEPROXY_CONFIG_IGNORED', entry.keyAt, {
        field: path,
        value: undefined,
        message,
      }),
    )
  }

  #reject(entry: Entry, path: string, ignored: string | undefined): void {
    const message =
      ignored === undefined
        ? `unknown field; ${didYouMean(path)}`
        : `a field of ${KUBE_KIND} only; remove it: ${ignored}`
    this.problems.push(
      problem('NP_NODEPROXY_CONFIG_FIELD', entry.keyAt, { field: path, value: undefined, message }),
    )
  }
}

/** Suggests a field of the same section first, then one of the same last name anywhere. */
function didYouMean(path: string): string {
  const known = [...FIELD_BY_PATH.keys()]
  const name = path.slice(path.indexOf('.') + 1)
  const sameName = known.find((field) => field.slice(field.indexOf('.') + 1) === name)
  const section = path.includes('.') ? [] : SECTIONS
  const meant = nearest(path, [...known, ...section]) ?? sameName
  return meant === undefined ? 'remove it' : `did you mean ${meant}?`
}

function isZero(raw: Raw): boolean {
  return raw === '' || raw === 0 || raw === '0s' || raw === '0' || raw === false
}

/** Nothing but zero values: generated files list every field there is. */
function isEmpty({ value }: Entry): boolean {
  if ('map' in value) return value.map.every(isEmpty)
  if ('bad' in value) return false
  return (
    value.raw === null || isZero(value.raw) || (Array.isArray(value.raw) && value.raw.length === 0)
  )
}

function problem(
  code: string,
  at: Position,
  rest: Pick<Problem, 'field' | 'value' | 'message'>,
): Problem {
  return { code, at, ...rest }
}
