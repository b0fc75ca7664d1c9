import type { ResolvConf } from '../../resources/resolver/resolv-conf.ts'
import type { Question } from './question.ts'

const MAX_NAME = 253
/** What libc takes at most (RES_MAXNDOTS). */
const MAX_NDOTS = 15

/** The dots from which on a name is queried as it is, first (resolv.conf(5)). */
export function ndotsOf({ options }: ResolvConf): number {
  const text = options.get('ndots')
  if (text === undefined) return 1
  return Math.min(Math.max(Number.parseInt(text, 10) || 0, 0), MAX_NDOTS)
}

/**
 * The names that libc queries for, one after the other until one has records: with each domain of the search list,
 * and as it is; first as it is when it has enough dots (resolv.conf(5), res_nsearch of glibc). Names that are longer
 * than a name may be are left out.
 */
export function searchList(question: Question, file: ResolvConf): readonly string[] {
  const { name, isAbsolute } = question
  if (isAbsolute) return [name]
  const dots = name.split('.').length - 1
  const searched = file.searches.map((domain) => joined(name, domain))
  const all = dots >= ndotsOf(file) ? [name, ...searched] : [...searched, name]
  return [...new Set(all)].filter((one) => one.length <= MAX_NAME)
}

/** `.` is the root, so the name as it is. */
function joined(name: string, domain: string): string {
  const end = domain.replace(/\.$/, '').toLowerCase()
  return end === '' ? name : `${name}.${end}`
}
