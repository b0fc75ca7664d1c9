import fs from 'node:fs'
import { parseSync } from 'vite'
import { execFileSync } from 'node:child_process'
const ROOT = process.cwd()
let n = 0, c = 0
for (const p of execFileSync('git', ['ls-files', '*.ts'], { encoding: 'utf8', maxBuffer: 1e8 }).split('\n').filter(Boolean)) {
  for (let pass = 0; pass < 5; pass++) {
    const text = fs.readFileSync(p, 'utf8')
    const r = parseSync(p, text)
    const edits = []
    const visit = (node, parent) => {
      if (!node || typeof node !== 'object') return
      if (Array.isArray(node)) { for (const x of node) visit(x, parent); return }
      if (typeof node.type !== 'string') return
      if (node.type === 'SpreadElement') {
        const a = node.argument
        const inObject = parent.type === 'ObjectExpression'
        if ((a.type === 'ObjectExpression' && inObject) || (a.type === 'ArrayExpression' && !inObject && !a.elements.includes(null))) {
          const inner = text.slice(a.start + 1, a.end - 1).trim().replace(/,$/, '')
          edits.push([node.start, node.end, inner]); return
        }
      }
      for (const k of Object.keys(node)) if (k !== 'type') visit(node[k], node)
    }
    visit(r.program.body, null)
    if (edits.length === 0) break
    n += edits.length; c++
    let t = text
    for (const [s, e, inner] of edits.sort((x, y) => y[0] - x[0])) {
      let end = e
      if (inner === '') { const m = /^\s*,/.exec(t.slice(e)); if (m) end += m[0].length }
      t = t.slice(0, s) + inner + t.slice(end)
    }
    fs.writeFileSync(p, t)
  }
}
console.log(n, c)
