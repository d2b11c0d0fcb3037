// Package editor reads what a person types while other things are being printed: a prompt at
// the foot of the terminal with a text of one or many lines to edit, and above it whatever
// the program prints, never mixed.
//
// Ordering: what is printed appears in the order of the calls, whoever makes them; events
// come in the order of the keys. Ownership: one mutex guards the screen and the text being
// edited; one goroutine reads the terminal and one waits for its size to change, and Close
// waits for both. Backpressure: a program that does not take its events stops the reading of
// keys and nothing else; Print never waits for a person. Shutdown: Close gives the terminal
// back as it was found and closes the events; what was being typed is dropped.
//
// Plain has the same methods for input that is no terminal, or one that can move no cursor.
package editor
