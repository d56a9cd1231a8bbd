"""The application around the client, MCP's "host": what the five files need to be of use.

It is written once and works with whichever folder is the target. In the order in which a question meets them:
`main` and `command` (the command), `words` (every sentence, in two languages), `models` (who answers),
`target` (whose five files), `config` (which servers), `turn`, `servers` and `interrupts` (the run), `screen`
(what a person sees of it).

Around each call stand guards; `guarded` has their order, and each knows nothing of the others: `repeats` (no
circles), `lazy` (servers on demand), `health` and `resilience` (servers that die, fall silent or change),
`confirm` (a person agrees), `validate` (a result keeps its promise).
"""
