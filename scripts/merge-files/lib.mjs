import { parseSync } from 'vite'
import fs from 'node:fs'
import path from 'node:path'
export const ROOT = process.env.ROOT ?? process.cwd()
const posix = path.posix
export function listFiles() {
  const out = []
  for (const top of ['src', 'test', 'bench', 'docker', 'scripts']) {
    if (!fs.existsSync(`${ROOT}/${top}`)) continue
    for (const e of fs.readdirSync(`${ROOT}/${top}`, { recursive: true })) {
      if (e.endsWith('.ts') && !e.includes('node_modules')) out.push(`${top}/${e}`)
    }
  }
  for (const e of fs.readdirSync(ROOT)) if (e.endsWith('.ts')) out.push(e)
  return out.sort()
}
export const isTest = (p) => p.endsWith('.test.ts')
export const isTesting = (p) => p.includes('/testing/')
export const isProd = (p) => p.startsWith('src/') && !isTest(p) && !isTesting(p) && !p.endsWith('.script.ts')
export class File {
  constructor(p, text) { this.path = p; this.set(text) }
  set(text) {
    this.text = text
    this.parsed = undefined
  }
  get ast() {
    if (!this.parsed) {
      const r = parseSync(this.path, this.text)
      if (r.errors.length) throw new Error(`${this.path}: ${r.errors[0].message}\n${this.text}`)
      this.parsed = r.program
    }
    return this.parsed
  }
  get lines() { return this.text.split('\n').length - 1 }
  /** chunks: {node, text} with leading comments */
  chunks() {
    const out = []
    let prev = 0
    for (const node of this.ast.body) {
      let text = this.text.slice(prev, node.end)
      // trailing comment on same line
      const rest = this.text.slice(node.end)
      const m = /^[ \t]*\/\/[^\n]*/.exec(rest)
      let end = node.end
      if (m) { text += m[0]; end += m[0].length }
      out.push({ node, text: text.replace(/^\s*\n/, '').trimEnd(), lead: this.text.slice(prev, node.start).trim(), tight: prev > 0 && !/^[ \t]*\n[ \t]*\n/.test(this.text.slice(prev)) })
      prev = end
    }
    const tail = this.text.slice(prev).trim()
    return { chunks: out, tail }
  }
  /** import-like declarations with sources */
  sources() {
    const out = []
    const visit = (n) => {
      if (!n || typeof n !== 'object') return
      if (Array.isArray(n)) { for (const x of n) visit(x); return }
      if (typeof n.type !== 'string') return
      if ((n.type === 'ImportDeclaration' || n.type === 'ExportNamedDeclaration' || n.type === 'ExportAllDeclaration' || n.type === 'ImportExpression' || n.type === 'TSImportType') ) {
        const s = n.source ?? n.argument
        const lit = s?.type === 'Literal' ? s : s?.literal
        if (lit && typeof lit.value === 'string') out.push({ node: n, lit, spec: lit.value })
      }
      for (const k of Object.keys(n)) if (k !== 'type') visit(n[k])
    }
    visit(this.ast.body)
    return out
  }
}
export function resolve(from, spec) {
  return spec.startsWith('.') ? posix.join(posix.dirname(from), spec) : spec
}
export function relative(from, to) {
  const r = posix.relative(posix.dirname(from), to)
  return r.startsWith('.') ? r : `./${r}`
}
export function load() {
  const files = new Map()
  for (const p of listFiles()) files.set(p, new File(p, fs.readFileSync(`${ROOT}/${p}`, 'utf8')))
  return files
}
export function importersOf(files) {
  const imp = new Map()
  for (const f of files.values()) {
    for (const { spec } of f.sources()) {
      const t = resolve(f.path, spec)
      if (!imp.has(t)) imp.set(t, new Set())
      imp.get(t).add(f.path)
    }
  }
  return imp
}
export function declNames(node) {
  const d = node.type === 'ExportNamedDeclaration' ? node.declaration : node
  if (!d) return []
  if (d.type === 'VariableDeclaration') return d.declarations.flatMap((x) => patternNames(x.id))
  return d.id?.name ? [d.id.name] : []
}
function patternNames(p) {
  if (p.type === 'Identifier') return [p.name]
  if (p.type === 'ObjectPattern') return p.properties.flatMap((x) => patternNames(x.value ?? x.argument))
  if (p.type === 'ArrayPattern') return p.elements.filter(Boolean).flatMap(patternNames)
  if (p.type === 'AssignmentPattern') return patternNames(p.left)
  return []
}
/** imports: Map spec-> {names: Map local->{imported,type}, ns, side} */
export function importEntries(file) {
  const out = []
  for (const node of file.ast.body) {
    if (node.type !== 'ImportDeclaration') continue
    for (const s of node.specifiers) {
      out.push({
        target: resolve(file.path, node.source.value),
        kind: s.type === 'ImportSpecifier' ? 'named' : s.type === 'ImportNamespaceSpecifier' ? 'ns' : 'default',
        imported: s.imported?.name ?? s.imported?.value,
        local: s.local.name,
        type: node.importKind === 'type' || s.importKind === 'type',
        attrs: node.attributes?.length ? file.text.slice(node.source.end, node.end) : '',
      })
    }
    if (node.specifiers.length === 0) out.push({ target: resolve(file.path, node.source.value), kind: 'side' })
  }
  return out
}
export function printImports(at, entries) {
  const by = new Map()
  for (const e of entries) {
    const k = `${e.target}|${e.attrs ?? ''}`
    if (!by.has(k)) by.set(k, [])
    by.get(k).push(e)
  }
  const lines = []
  for (const list of by.values()) {
    const t = list[0].target
    const spec = t.startsWith('src/') || t.startsWith('test/') || t.startsWith('bench/') || t.startsWith('docker/') || t.startsWith('scripts/') || t.startsWith('proto/') || t.endsWith('.config.ts') || (/^[\w.-]+\.(json|ts)$/.test(t)) ? relative(at, t) : t
    const attrs = list[0].attrs ?? ''
    for (const e of list) {
      if (e.kind === 'side') lines.push(`import '${spec}'${attrs}`)
      if (e.kind === 'ns') lines.push(`import ${e.type ? 'type ' : ''}* as ${e.local} from '${spec}'${attrs}`)
      if (e.kind === 'default') lines.push(`import ${e.type ? 'type ' : ''}${e.local} from '${spec}'${attrs}`)
    }
    const named = new Map()
    for (const e of list) if (e.kind === 'named') {
      const had = named.get(e.local)
      if (!had) named.set(e.local, { ...e })
      else if (had.imported !== e.imported) throw new Error(`clash ${e.local}`)
      else had.type = had.type && e.type
    }
    if (named.size) {
      const all = [...named.values()].sort((a, b) => (a.imported < b.imported ? -1 : 1))
      const onlyTypes = all.every((e) => e.type)
      const parts = all.map((e) => `${!onlyTypes && e.type ? 'type ' : ''}${e.imported === e.local ? e.local : `${e.imported} as ${e.local}`}`)
      lines.push(`import ${onlyTypes ? 'type ' : ''}{ ${parts.join(', ')} } from '${spec}'${attrs}`)
    }
  }
  return lines.join('\n')
}
