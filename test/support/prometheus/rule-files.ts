import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root } from '../on-demand/root.ts'

export const PROMETHEUS_FOLDER = join(root, 'config/prometheus')

/** A rule of config/prometheus; exactly one of `record` and `alert` is there. */
export interface Rule {
  readonly file: string
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
}

interface RuleFile {
  readonly groups?: readonly { readonly rules: readonly Omit<Rule, 'file'>[] }[]
}

/** All rules of config/prometheus. */
export function readRules(): readonly Rule[] {
  return readdirSync(PROMETHEUS_FOLDER)
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((file) => {
      const { groups = [] } = parse(readFileSync(join(PROMETHEUS_FOLDER, file), 'utf8')) as RuleFile
      return groups.flatMap(({ rules }) => rules.map((rule) => ({ ...rule, file })))
    })
}

/** The labels of a recorded metric: the first part of its name, `level:metric:operations`. */
export function labelsOfLevel(record: string): readonly string[] {
  return (record.split(':')[0] ?? '').split('_')
}
