package wire

// PluginQuery asks which plugins there are, seen from a place.
type PluginQuery struct {
	Place
	// Name asks for this one alone, by its name, its ID or its folder.
	Name string `json:"name,omitempty"`
	// Check has all files of plugins looked at: of those that count here, or of those in these folders.
	Check bool     `json:"check,omitempty"`
	Paths []string `json:"paths,omitempty"`
}

// PluginList is the plugins that there are, and what was found wrong.
type PluginList struct {
	Plugins  []PluginRow `json:"plugins"`
	Problems []string    `json:"problems"`
}

// PluginRow is one plugin. What it brings is named as it is called; of one that is only listed nothing is known.
type PluginRow struct {
	ID          string `json:"id"` // NAME, or NAME@MARKETPLACE
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	Folder      string `json:"folder,omitempty"`
	From        string `json:"from"`
	// State is "on", "texts" (agents, skills and commands count, nothing runs) or "off"; Why, if it is not on.
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
	// Loaded: it can be read.
	Loaded   bool     `json:"loaded"`
	Agents   []string `json:"agents"`
	Skills   []string `json:"skills"`
	Commands []string `json:"commands"`
	Styles   []string `json:"output_styles,omitempty"`
	// Hooks and Servers are what it runs. Added and Gone are such lines as came and went since it was enabled.
	Hooks   []string `json:"hooks"`
	Servers []string `json:"servers"`
	Added   []string `json:"added,omitempty"`
	Gone    []string `json:"gone,omitempty"`
	// Warnings are what is wrong with its files. Failed is how many of them cannot be used.
	Warnings []string `json:"warnings"`
	Failed   int      `json:"failed,omitempty"`
}

// PluginAction is what is to become of a plugin.
type PluginAction string

// Actions with plugins.
const (
	PluginEnable  PluginAction = "enable"
	PluginDisable PluginAction = "disable"
	PluginAdd     PluginAction = "add"    // a folder, which stays where it is
	PluginRemove  PluginAction = "remove" // a folder that was added
)

// PluginChange enables or disables a plugin by its name, or adds or removes a folder.
type PluginChange struct {
	Cwd    string       `json:"cwd"`
	Action PluginAction `json:"action" enum:"enable,disable,add,remove"`
	Name   string       `json:"name"`
}
